import type { Command } from 'commander';
import { badRequest } from '../../api/errors/index.ts';
import type { Pod } from '../../api/generated/types.ts';
import { pickContainer } from '../args/pod-container.ts';
import { withSession } from '../session.ts';
import { attachTerminal } from '../terminal/attach-terminal.ts';
import { joinTerminal } from '../terminal/terminal.ts';
import { findPod, parsePodTimeout } from '../workload/find-pods.ts';
import { inOrderForSessions } from '../workload/pod-order.ts';

interface AttachFlags {
  readonly container?: string;
  readonly stdin?: boolean;
  readonly tty?: boolean;
  readonly quiet?: boolean;
  readonly podRunningTimeout: string;
}

export function registerAttach(program: Command): void {
  program
    .command('attach')
    .description('Attach to the standard input and output of a running container')
    .argument('<pod>', 'POD, pod/POD, or TYPE/NAME of what has pods')
    .option('-c, --container <name>', 'the container, when the pod has several')
    .option('-i, --stdin', 'pass standard input on; the container needs "stdin: true"')
    .option('-t, --tty', 'with a terminal; the container needs "tty: true"')
    .option('-q, --quiet', 'print only what the container writes')
    .option('--pod-running-timeout <duration>', 'with TYPE/NAME: how long to wait for a pod', '1m')
    .action(async (word: string, flags: AttachFlags, command: Command) => {
      const timeoutMs = parsePodTimeout(flags.podRunningTimeout);
      await withSession(command, async (session) => {
        const { client, namespace } = session;
        const pod = await findPod(session, word, { order: inOrderForSessions, timeoutMs, quiet: flags.quiet });
        const name = pod.metadata?.name ?? '';
        refuseEnded(pod);
        const container = pickContainer(pod, flags.container, flags.quiet);
        const terminal = attachTerminal(pod, container, flags);
        if (terminal.stdin && terminal.tty && !flags.quiet)
          process.stderr.write("If you don't see a command prompt, try pressing enter.\n");
        const { stdin, tty } = terminal;
        const stream = client.pods.attach({ namespace, name }, { container, stdin, stdout: true, stderr: !tty, tty });
        await joinTerminal(stream, terminal);
        if (terminal.stdin && terminal.tty && !flags.quiet && pod.spec?.restartPolicy === 'Always')
          process.stderr.write(
            `Session ended, resume using 'berth attach ${name} -c ${container} -i -t' command when the pod is running\n`,
          );
      });
    });
}

function refuseEnded(pod: Pod): void {
  const phase = pod.status?.phase ?? '';
  if (phase === 'Succeeded' || phase === 'Failed')
    throw badRequest(`cannot attach a container in a completed pod; current phase is ${phase}`);
}
