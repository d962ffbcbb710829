import { readEnvironment } from '../control-plane/environment.ts';
import { exitOfProof } from './fence-proof.ts';

/** `npm run fence-proof`: compares the fence with its contract over the whole scope. */
process.exitCode = await exitOfProof(process.argv.slice(2), readEnvironment());
