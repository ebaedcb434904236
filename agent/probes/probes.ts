import type { Pod } from '../../api/generated/types.ts';
import { isFinished } from '../../api/kinds/pod/lifecycle.ts';
import type { ContainerHealth, HealthKeeper } from '../pod/health.ts';
import { isAlive } from '../pod/observation.ts';
import { isLeaving } from '../pod/pod-lifecycle.ts';
import type { PodRecord } from '../pod/pod-record.ts';
import { containerId } from '../runtime/container-id.ts';
import { type ObservedContainer, sandboxName } from '../runtime/runtime.ts';
import { ContainerWatch, type KnownHealth, type WatchOptions } from './container-watch.ts';
import { addressOf, specOf } from './targets.ts';

export interface ProbesOptions extends WatchOptions {
  /** The machine's address, for pods in its network. */
  readonly hostIP: string;
  /** The health of a container of this pod may be another: decide anew. */
  readonly look: (podUid: string) => void;
}

const notUp: ContainerHealth = { started: false, ready: false };
const healthy: ContainerHealth = { started: true, ready: true };

/**
 * The hooks and probes of all containers that run, by pod and container. Each has at most three probes, and each of
 * them one check at a time.
 */
export function createProbes(options: ProbesOptions): HealthKeeper {
  const pods = new Map<string, Map<string, ContainerWatch>>();

  function begin(record: PodRecord, pod: Pod, observed: ObservedContainer, podIP: string): ContainerWatch {
    const container = specOf(pod, observed.containerName) ?? { name: observed.containerName };
    const onChange = () => options.look(record.uid);
    const watch = new ContainerWatch(options, { pod, container, observed, podIP, known: knownOf(pod, observed), onChange });
    watch.begin();
    return watch;
  }

  function forget(podUid: string): void {
    for (const watch of pods.get(podUid)?.values() ?? []) watch.end();
    pods.delete(podUid);
  }

  return {
    of(container) {
      if (!isAlive(container)) return notUp;
      return pods.get(container.podUid)?.get(container.id)?.health() ?? healthy;
    },
    sync(record) {
      const { pod } = record;
      if (pod === undefined) return forget(record.uid);
      const watches = pods.get(record.uid) ?? new Map<string, ContainerWatch>();
      pods.set(record.uid, watches);
      for (const [id, watch] of watches) {
        const container = record.containers.get(id);
        if (container !== undefined && isAlive(container)) continue;
        watch.end();
        watches.delete(id);
      }
      const podIP = addressOf(record, pod, options.hostIP);
      for (const container of record.containers.values()) {
        if (container.containerName === sandboxName || !isAlive(container)) continue;
        const watch = watches.get(container.id) ?? begin(record, pod, container, podIP);
        watches.set(container.id, watch);
        watch.podIP = podIP;
        if (isLeaving(record.life) || isFinished(pod)) watch.stopKilling();
      }
    },
    forget,
  };
}

/** What the API says of this very container, where it says that it runs: then its postStart hook has ended, too. */
function knownOf({ status }: Pod, observed: ObservedContainer): KnownHealth | undefined {
  const id = containerId(observed);
  const said = [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])].find(
    (each) => each.containerID === id,
  );
  if (said?.state?.running === undefined) return undefined;
  return { started: said.started === true, ready: said.ready === true };
}
