/**
 * To be imported before everything else: a program that is told to end while it still loads ends with 0. As the first
 * process of a container it would not notice otherwise, and be killed at the end of its grace period. `runProgram` takes over.
 */
for (const name of ['SIGTERM', 'SIGINT']) process.on(name, () => process.exit(0));

export {};
