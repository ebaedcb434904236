import { badRequest } from '../../api/errors/index.ts';
import type { Pod } from '../../api/generated/types.ts';
import { listAll } from '../../client/informer/list-all.ts';
import { containerNames, pickContainer } from '../args/pod-container.ts';
import { parsePodArgument } from '../args/resource-args.ts';
import type { Session } from '../session.ts';
import type { LogsFlags } from './log-options.ts';

/** One log to show. */
export interface LogSource {
  readonly pod: string;
  readonly container: string;
}

/** The logs that a command line names, pod after pod. Throws INVALID_ARGUMENT and NOT_FOUND. */
export async function findLogSources(
  { client, namespace }: Session,
  word: string | undefined,
  flags: LogsFlags,
): Promise<LogSource[]> {
  if (word === undefined && flags.selector === undefined)
    throw badRequest('name a pod: logs POD, logs pod/POD, or choose some with -l');
  if (word !== undefined && flags.selector !== undefined) throw badRequest('give either a pod or a selector (-l), not both');
  if (flags.allContainers && flags.container !== undefined)
    throw badRequest('--all-containers and a container do not go together');
  if (word !== undefined) return sourcesOf(await client.pods.get({ namespace, name: parsePodArgument(word) }), flags);
  const pods = await listAll(client.pods, { namespace, labelSelector: flags.selector });
  return pods.items.flatMap((pod) => sourcesOf(pod, flags));
}

function sourcesOf(pod: Pod, flags: LogsFlags): LogSource[] {
  const name = pod.metadata?.name ?? '';
  const containers = flags.allContainers ? containerNames(pod) : [pickContainer(pod, flags.container)];
  return containers.map((container) => ({ pod: name, container }));
}
