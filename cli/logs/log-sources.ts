import { badRequest } from '../../api/errors/index.ts';
import type { Pod } from '../../api/generated/types.ts';
import { listAll } from '../../client/informer/list-all.ts';
import { containerNames, pickContainer } from '../args/pod-container.ts';
import type { Session } from '../session.ts';
import { findPods, parsePodTimeout, tellChoice } from '../workload/find-pods.ts';
import { inOrderForLogs } from '../workload/pod-order.ts';
import type { LogsFlags } from './log-options.ts';

/** One log to show. */
export interface LogSource {
  readonly pod: string;
  readonly container: string;
}

/** The logs that a command line names, pod after pod. Throws INVALID_ARGUMENT and NOT_FOUND. */
export async function findLogSources(
  session: Session,
  word: string | undefined,
  flags: LogsFlags,
  signal: AbortSignal,
): Promise<LogSource[]> {
  if (word === undefined && flags.selector === undefined)
    throw badRequest('name a pod: logs POD, logs pod/POD, logs deployment/NAME, or choose some with -l');
  if (word !== undefined && flags.selector !== undefined) throw badRequest('give either a name or a selector (-l), not both');
  if (flags.allContainers && flags.container !== undefined)
    throw badRequest('--all-containers and a container do not go together');
  const timeoutMs = parsePodTimeout(flags.podRunningTimeout);
  if (word === undefined) return (await podsOfSelector(session, flags.selector)).flatMap((pod) => sourcesOf(pod, flags));
  const pods = await findPods(session, word, { order: inOrderForLogs, timeoutMs, signal });
  if (flags.allPods) return pods.flatMap((pod) => sourcesOf(pod, flags));
  if (pods.length > 1) tellChoice(pods);
  return sourcesOf(pods[0]!, flags);
}

async function podsOfSelector({ client, namespace }: Session, labelSelector: string | undefined): Promise<Pod[]> {
  return (await listAll(client.pods, { namespace, labelSelector })).items;
}

/** Which container was chosen is told for one pod, not for each of many. */
function sourcesOf(pod: Pod, flags: LogsFlags): LogSource[] {
  const name = pod.metadata?.name ?? '';
  const containers = flags.allContainers ? containerNames(pod) : [pickContainer(pod, flags.container, flags.allPods)];
  return containers.map((container) => ({ pod: name, container }));
}
