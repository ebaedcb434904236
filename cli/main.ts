import { Command, CommanderError } from 'commander';
import { expandBooleanFlags } from './boolean-flags.ts';
import { registerAgent } from './commands/agent.ts';
import { registerAnnotate } from './commands/annotate.ts';
import { registerApiResources } from './commands/api-resources.ts';
import { registerApply } from './commands/apply.ts';
import { registerAttach } from './commands/attach.ts';
import { registerComplete } from './commands/complete.ts';
import { registerCompletion } from './commands/completion.ts';
import { registerConfig } from './commands/config.ts';
import { registerCp } from './commands/cp.ts';
import { registerCreate } from './commands/create.ts';
import { registerDelete } from './commands/delete.ts';
import { registerDescribe } from './commands/describe.ts';
import { registerDown } from './commands/down.ts';
import { registerEdit } from './commands/edit.ts';
import { registerEvents } from './commands/events.ts';
import { registerExec } from './commands/exec.ts';
import { registerExplain } from './commands/explain.ts';
import { registerGet } from './commands/get.ts';
import { registerLabel } from './commands/label.ts';
import { registerLogLevel } from './commands/log-level.ts';
import { registerLogs } from './commands/logs.ts';
import { registerPatch } from './commands/patch.ts';
import { registerPortForward } from './commands/port-forward.ts';
import { registerProto } from './commands/proto.ts';
import { registerReplace } from './commands/replace.ts';
import { registerRun } from './commands/run.ts';
import { registerServer } from './commands/server.ts';
import { registerTop } from './commands/top.ts';
import { registerUp } from './commands/up.ts';
import { packageVersion, registerVersion } from './commands/version.ts';
import { registerWait } from './commands/wait.ts';
import { describeFailure, ExitWith } from './failure.ts';

/** The command line, complete; the order is the order of the help. */
export function createProgram(): Command {
  const program = new Command('berth')
    .description('Runs containers on a set of Linux machines')
    .version(packageVersion(), '--version', 'show the version')
    .option('-n, --namespace <name>', 'the namespace to work in')
    .option('--context <name>', 'the context of the configuration to use')
    .enablePositionalOptions(false)
    .configureOutput({ outputError: (text, write) => write(plainError(text)) })
    .exitOverride();
  for (const register of [
    registerUp,
    registerDown,
    registerApply,
    registerCreate,
    registerRun,
    registerEdit,
    registerPatch,
    registerReplace,
    registerLabel,
    registerAnnotate,
    registerGet,
    registerDescribe,
    registerEvents,
    registerTop,
    registerDelete,
    registerLogs,
    registerExec,
    registerAttach,
    registerPortForward,
    registerCp,
    registerWait,
    registerApiResources,
    registerExplain,
    registerConfig,
    registerLogLevel,
    registerProto,
    registerCompletion,
    registerComplete,
    registerServer,
    registerAgent,
    registerVersion,
  ]) {
    register(program);
  }
  throwErrors(program);
  return program;
}

/** Every command reports a mistake by throwing, as the program does. */
function throwErrors(parent: Command): void {
  for (const command of parent.commands) throwErrors(command.exitOverride());
}

/** The parser's message and its guess as one sentence, with where to look. */
function plainError(text: string): string {
  const sentence = text
    .trimEnd()
    .replace(/\.$/, '')
    .replace(/\.?\n\(Did you mean (?:one of )?(.*)\?\)$/, '; did you mean $1?');
  return `${sentence}${sentence.endsWith('?') ? '' : '; --help says how to use it'}\n`;
}

/** Runs one command line and sets the exit code: 0, 1 after one plain sentence on standard error, or a program's own code. */
export async function main(argv: readonly string[]): Promise<void> {
  // A reader that goes away (`berth get pods | head`) is no failure.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
    throw error;
  });
  try {
    const program = createProgram();
    await program.parseAsync(expandBooleanFlags(program, argv));
  } catch (error) {
    if (error instanceof CommanderError) {
      process.exitCode = error.exitCode === 0 ? 0 : 1;
      return;
    }
    const text = error instanceof ExitWith ? error.message : describeFailure(error);
    if (text !== '') process.stderr.write(`error: ${text}\n`);
    process.exitCode = error instanceof ExitWith ? error.exitCode : 1;
  }
}
