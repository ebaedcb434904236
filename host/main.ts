import { clientCommands } from '../cli/commands/index.ts';
import { createCommandLine } from '../cli/program/program.ts';
import { hostCommands } from './commands/index.ts';

/** `berth`: the client of the API and the programs of a host. */
export const { commands, createProgram, main } = createCommandLine([...hostCommands, ...clientCommands]);
