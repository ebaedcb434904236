import type { Command } from 'commander';
import { badRequest, isCancelled } from '../../api/errors/index.ts';
import type { PodLogOptions } from '../../api/generated/types.ts';
import { followLogs } from '../../client/pod-streams/follow-logs.ts';
import type { LogGap } from '../../client/pod-streams/log-position.ts';
import { type LogsFlags, parseLogOptions, parseMaxRequests } from '../logs/log-options.ts';
import { endsInLine, LinePrefix, writeAll } from '../logs/log-output.ts';
import { findLogSources, type LogSource } from '../logs/log-sources.ts';
import { describeFailure } from '../program/failure.ts';
import { interruptSignal, type Session, withSession } from '../session.ts';

export function registerLogs(program: Command): void {
  program
    .command('logs')
    .description('Show the logs of containers')
    .argument('[pod]', 'POD, pod/POD, or TYPE/NAME of what has pods')
    .argument('[container]', 'the container, like -c')
    .option('-c, --container <name>', 'the container, when the pod has several')
    .option('--all-containers', 'of all containers of the pod')
    .option('--all-pods', 'with TYPE/NAME: of all of its pods, with a prefix')
    .option('-l, --selector <selector>', 'of the pods with these labels, e.g. app=web')
    .option('-f, --follow', 'follow the logs, also across restarts of the server')
    .option('-p, --previous', 'of the run before the last restart')
    .option('--tail <lines>', 'only the last lines; -1 is all, 10 the default with a selector')
    .option('--since <duration>', 'only what is newer, e.g. 10m')
    .option('--since-time <time>', 'only what is newer than this, e.g. 2026-11-21T10:00:00Z')
    .option('--limit-bytes <bytes>', 'only so much of each')
    .option('--timestamps', 'with the time of each line')
    .option('--prefix', 'with the pod and the container before each line')
    .option('--ignore-errors', 'continue with the others when one fails')
    .option('--max-log-requests <count>', 'how many to follow at once', '5')
    .option('--pod-running-timeout <duration>', 'with TYPE/NAME: how long to wait for a pod', '20s')
    .action(async (pod: string | undefined, container: string | undefined, given: LogsFlags, command: Command) => {
      const flags: LogsFlags = { ...given, ...(container !== undefined && { container: given.container ?? container }) };
      const options = parseLogOptions(flags);
      const signal = interruptSignal();
      await withSession(command, async (session) => {
        try {
          const sources = await findLogSources(session, pod, flags, signal);
          if (sources.length === 0) process.stderr.write(`No resources found in ${session.namespace} namespace.\n`);
          await (flags.follow ? followAll : showAll)({ session, options, flags, signal }, sources);
        } catch (error) {
          if (!isCancelled(error) || !signal.aborted) throw error;
        }
      });
    });
}

interface LogsRun {
  readonly session: Session;
  readonly options: PodLogOptions;
  readonly flags: LogsFlags;
  readonly signal: AbortSignal;
}

/** One after the other. */
async function showAll(run: LogsRun, sources: readonly LogSource[]): Promise<void> {
  const { client, namespace } = run.session;
  for (const source of sources) {
    const { pod: name, container } = source;
    const pieces = client.pods.logs({ namespace, name }, { ...run.options, container }, { signal: run.signal });
    await tolerate(run, source, () => print(pieces, prefixOf(run, source), sources.length > 1));
  }
}

/** All at once, merged by whole lines; ends when all containers have. */
async function followAll(run: LogsRun, sources: readonly LogSource[]): Promise<void> {
  const most = parseMaxRequests(run.flags);
  if (sources.length > most) {
    throw badRequest(
      `you are attempting to follow ${sources.length} log streams, but maximum allowed concurrency is ${most}, use --max-log-requests to increase the limit`,
    );
  }
  const { client, namespace } = run.session;
  const notes = connectionNotes();
  const follow = async (source: LogSource): Promise<void> => {
    const { pod: name, container } = source;
    const options = { ...run.options, container };
    const of = sources.length > 1 ? ` of ${name}/${container}` : '';
    const onGap = ({ after, before }: LogGap): void => {
      process.stderr.write(
        `warning: lines${of} written between ${after} and ${before} may be missing: the node has deleted them before they were read\n`,
      );
    };
    const pieces = followLogs(client.pods, { namespace, name }, options, { signal: run.signal, onGap, ...notes() });
    await tolerate(run, source, () => print(pieces, prefixOf(run, source), sources.length > 1));
  };
  await Promise.all(sources.map(follow));
}

async function print(pieces: AsyncIterable<Buffer>, prefix: LinePrefix, endLines: boolean): Promise<void> {
  let inLine = false;
  for await (const data of pieces) {
    await writeAll(process.stdout, prefix.add(data));
    inLine = endsInLine(data);
  }
  // The next log must not begin in this one's last line.
  if (inLine && endLines) await writeAll(process.stdout, Buffer.from('\n'));
}

function prefixOf({ flags }: LogsRun, { pod, container }: LogSource): LinePrefix {
  return new LinePrefix(flags.prefix || flags.allPods ? `[pod/${pod}/${container}] ` : '');
}

async function tolerate({ flags, signal }: LogsRun, { pod, container }: LogSource, show: () => Promise<void>): Promise<void> {
  try {
    await show();
  } catch (error) {
    if (!flags.ignoreErrors || signal.aborted) throw error;
    process.stderr.write(`error: ${pod}/${container}: ${describeFailure(error)}\n`);
  }
}

/** Tells a person, once for all logs, that the connection was lost and that it goes on. */
function connectionNotes(): () => { onLost?(error: unknown): void; onResumed?(): void } {
  if (!process.stderr.isTTY) return () => ({});
  let lost = 0;
  return () => ({
    onLost(error) {
      if (lost++ === 0) process.stderr.write(`note: ${describeFailure(error)}; the log goes on as soon as that is mended\n`);
    },
    onResumed() {
      if (--lost === 0) process.stderr.write('note: the log goes on\n');
    },
  });
}
