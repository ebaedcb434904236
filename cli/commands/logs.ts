import { once } from 'node:events';
import type { Command } from 'commander';
import { badRequest, isCancelled } from '../../api/errors/index.ts';
import { timestamp } from '../../api/meta/time.ts';
import { parseDuration } from '../duration.ts';
import { parsePodArgument } from '../resource-args.ts';
import { interruptSignal, withSession } from '../session.ts';

interface LogsFlags {
  readonly container?: string;
  readonly follow?: boolean;
  readonly previous?: boolean;
  readonly tail?: string;
  readonly since?: string;
  readonly timestamps?: boolean;
}

export function registerLogs(program: Command): void {
  program
    .command('logs')
    .description('Show what a container wrote')
    .argument('<pod>', 'POD or pod/POD')
    .argument('[container]', 'the container, like -c')
    .option('-c, --container <name>', 'the container, when the pod has several')
    .option('-f, --follow', 'go on as it writes')
    .option('-p, --previous', 'of the run before the last restart')
    .option('--tail <lines>', 'only the last lines')
    .option('--since <duration>', 'only what is newer, e.g. 10m')
    .option('--timestamps', 'with the time of each line')
    .action(async (pod: string, container: string | undefined, flags: LogsFlags, command: Command) => {
      const key = { name: parsePodArgument(pod) };
      const options = {
        container: flags.container ?? container,
        follow: flags.follow,
        previous: flags.previous,
        tailLines: flags.tail === undefined || flags.tail === '-1' ? undefined : parseLines(flags.tail),
        sinceTime: flags.since === undefined ? undefined : timestamp(new Date(Date.now() - parseDuration(flags.since))),
        timestamps: flags.timestamps,
      };
      const signal = interruptSignal();
      await withSession(command, async ({ client, namespace }) => {
        try {
          for await (const data of client.pods.logs({ ...key, namespace }, options, { signal })) {
            if (!process.stdout.write(data)) await once(process.stdout, 'drain');
          }
        } catch (error) {
          if (!isCancelled(error)) throw error;
        }
      });
    });
}

function parseLines(text: string): number {
  const lines = Number(text);
  if (!Number.isInteger(lines) || lines < 0) throw badRequest(`--tail takes a number of lines, not "${text}"`);
  return lines;
}
