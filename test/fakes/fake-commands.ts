import type { CommandResult, CommandRunner } from '../../agent/runtime/runtime.ts';

export interface FakeCommand {
  readonly id: string;
  readonly command: readonly string[];
  readonly timeoutMs: number | undefined;
}

/** Commands in containers that are only noted down. */
export interface FakeCommands extends CommandRunner {
  readonly calls: FakeCommand[];
  /** What each command gives from now on; the default succeeds without a word. */
  answer(answer: (call: FakeCommand, signal: AbortSignal) => Promise<CommandResult> | CommandResult): void;
}

export const exited = (exitCode: number, output = ''): CommandResult =>
  exitCode === 0 ? { type: 'succeeded' } : { type: 'failed', exitCode, output };

export function createFakeCommands(): FakeCommands {
  const calls: FakeCommand[] = [];
  let give: Parameters<FakeCommands['answer']>[0] = () => exited(0);
  return {
    calls,
    answer(next) {
      give = next;
    },
    async run(id, command, { timeoutMs }, signal) {
      const call = { id, command, timeoutMs };
      calls.push(call);
      return give(call, signal);
    },
  };
}
