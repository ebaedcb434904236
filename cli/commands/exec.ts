import type { Command } from 'commander';
import { badRequest } from '../../api/errors/index.ts';
import { pickContainer } from '../args/pod-container.ts';
import { ExitWith } from '../program/failure.ts';
import { withSession } from '../session.ts';
import { chooseTerminal, joinTerminal } from '../terminal/terminal.ts';
import { findPod, parsePodTimeout } from '../workload/find-pods.ts';
import { inOrderForSessions } from '../workload/pod-order.ts';

interface ExecFlags {
  readonly container?: string;
  readonly stdin?: boolean;
  readonly tty?: boolean;
  readonly quiet?: boolean;
  readonly podRunningTimeout: string;
}

export function registerExec(program: Command): void {
  program
    .command('exec')
    .description('Run a command in a container: exec web -- ls /')
    .argument('<pod>', 'POD, pod/POD, or TYPE/NAME of what has pods')
    .argument('<command...>', 'the command, behind --')
    .option('-c, --container <name>', 'the container, when the pod has several')
    .option('-i, --stdin', 'pass standard input on')
    .option('-t, --tty', 'with a terminal')
    .option('-q, --quiet', 'print only what the command writes')
    .option('--pod-running-timeout <duration>', 'with TYPE/NAME: how long to wait for a pod', '1m')
    .action(async (pod: string, words: string[], flags: ExecFlags, command: Command) => {
      if (words.length === 0) throw badRequest('give a command behind --');
      const timeoutMs = parsePodTimeout(flags.podRunningTimeout);
      const terminal = chooseTerminal(flags);
      const code = { value: 0 };
      await withSession(command, async (session) => {
        const { client, namespace } = session;
        const found = await findPod(session, pod, { order: inOrderForSessions, timeoutMs, quiet: flags.quiet });
        const key = { namespace, name: found.metadata?.name ?? '' };
        const container = pickContainer(found, flags.container, flags.quiet);
        const { stdin, tty } = terminal;
        const stream = client.pods.exec(key, { container, command: words, stdin, stdout: true, stderr: !tty, tty });
        await joinTerminal(stream, terminal);
        code.value = await stream.exitCode();
      });
      if (code.value !== 0) throw new ExitWith(code.value, `command terminated with exit code ${code.value}`);
    });
}
