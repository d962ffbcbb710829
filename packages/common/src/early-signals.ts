/** What was not done is not to be taken for done. */
const exitCode = process.argv.some((each) => /^--?prune$/.test(each)) ? 1 : 0;

/**
 * To be imported before everything else: a program that is told to end while it still loads ends with 0, and with 1 where
 * it was to prune. As the first process of a container it would not notice otherwise, and be killed at the end of its grace
 * period. `runProgram` takes over.
 */
for (const name of ['SIGTERM', 'SIGINT']) process.on(name, () => process.exit(exitCode));

export {};
