import { linkSync, renameSync, symlinkSync } from 'node:fs';

/**
 * A program of its own: until it is killed, puts a socket and a link that leads elsewhere under one name in turn, each
 * in one step and as fast as it can. Arguments: the name, the socket that is linked under it, and where the link leads.
 */
const [name = '', socket = '', elsewhere = ''] = process.argv.slice(2);

for (let round = 0; ; round += 1) {
  const next = `${name}.${round % 2}`;
  if (round % 2 === 0) linkSync(socket, next);
  else symlinkSync(elsewhere, next);
  renameSync(next, name);
}
