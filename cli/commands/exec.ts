import { once } from 'node:events';
import type { Command } from 'commander';
import { badRequest } from '../../api/errors/index.ts';
import type { ExecStream } from '../../client/index.ts';
import { ExitWith } from '../failure.ts';
import { parsePodArgument } from '../resource-args.ts';
import { withSession } from '../session.ts';

interface ExecFlags {
  readonly container?: string;
  readonly stdin?: boolean;
  readonly tty?: boolean;
}

export function registerExec(program: Command): void {
  program
    .command('exec')
    .description('Run a command in a container: exec web -- ls /')
    .argument('<pod>', 'POD or pod/POD')
    .argument('<command...>', 'the command, behind --')
    .option('-c, --container <name>', 'the container, when the pod has several')
    .option('-i, --stdin', 'pass standard input on')
    .option('-t, --tty', 'with a terminal')
    .action(async (pod: string, words: string[], flags: ExecFlags, command: Command) => {
      if (words.length === 0) throw badRequest('give a command behind --');
      const tty = (flags.tty ?? false) && process.stdin.isTTY === true;
      if (flags.tty && !tty) process.stderr.write('Unable to use a TTY - input is not a terminal\n');
      const code = { value: 0 };
      await withSession(command, async ({ client, namespace }) => {
        const stream = client.pods.exec(
          { namespace, name: parsePodArgument(pod) },
          { container: flags.container, command: words, stdin: flags.stdin ?? false, stdout: true, stderr: !tty, tty },
        );
        code.value = await runSession(stream, { stdin: flags.stdin ?? false, tty });
      });
      if (code.value !== 0) throw new ExitWith(code.value, `command terminated with exit code ${code.value}`);
    });
}

/** Joins this terminal with the command until it ends; returns its exit code. The terminal is given back whatever happens. */
async function runSession(stream: ExecStream, { stdin, tty }: { stdin: boolean; tty: boolean }): Promise<number> {
  const resize = (): void => stream.resize(process.stdout.columns ?? 80, process.stdout.rows ?? 24);
  if (tty) {
    process.stdin.setRawMode(true);
    process.stdout.on('resize', resize);
    resize();
  }
  // What the command does not read any more must not keep us from reading its output: errors of the input end the input only.
  if (stdin) void pumpInput(stream).catch(() => undefined);
  try {
    for await (const { stream: name, data } of stream.output()) {
      const target = name === 'stderr' ? process.stderr : process.stdout;
      if (!target.write(data)) await once(target, 'drain');
    }
    return await stream.exitCode();
  } finally {
    if (tty) {
      process.stdin.setRawMode(false);
      process.stdout.off('resize', resize);
    }
    process.stdin.destroy();
    stream.close();
  }
}

async function pumpInput(stream: ExecStream): Promise<void> {
  for await (const chunk of process.stdin) await stream.write(chunk as Buffer);
  stream.closeInput();
}
