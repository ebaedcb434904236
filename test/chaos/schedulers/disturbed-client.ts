import { setTimeout as delay } from 'node:timers/promises';
import { unavailable } from '../../../api/errors/index.ts';
import type { ApiObject } from '../../../api/kinds/kind.ts';
import type { BindStream, Client, ResourceClient, WatchEvent } from '../../../client/index.ts';
import type { Chance } from '../random.ts';

/** So many past events may come again. */
const remembered = 30;
const longestDelayMs = 40;

/**
 * A client as a scheduler has it on a bad day: its watches of pods and nodes lag behind each other, tell things again
 * that they told before, and tell of different objects in another order; a binding's answer may be lost, or the binding
 * itself.
 */
export function disturbedClient(client: Client, chance: Chance): Client {
  return {
    ...client,
    nodes: disturbedWatch(client.nodes, chance),
    pods: {
      ...client.pods,
      watch: disturbedWatch(client.pods, chance).watch,
      bindStream: (call) => disturbedBindings(client.pods.bindStream(call), chance),
    },
  };
}

function disturbedWatch<T extends ApiObject, C extends Pick<ResourceClient<T>, 'watch'>>(resource: C, chance: Chance): C {
  return {
    ...resource,
    async *watch(scope, call) {
      const past: WatchEvent<T>[] = [];
      for await (const batch of resource.watch(scope, call)) {
        if (chance.below(4) === 0) await delay(chance.below(longestDelayMs));
        // Again, in order, as after a reconnection from an older version: the final state of each object comes last.
        const again = chance.below(5) === 0 ? past.slice(-chance.below(remembered)) : [];
        past.push(...batch.filter(({ type }) => type !== 'BOOKMARK'));
        past.splice(0, Math.max(0, past.length - remembered));
        // The last stays the last: from its version the watch goes on.
        yield [...again, ...mixed(batch.slice(0, -1), chance), ...batch.slice(-1)];
      }
    },
  };
}

/** In another order, but each object's own events in theirs. */
function mixed<T extends ApiObject>(batch: readonly WatchEvent<T>[], chance: Chance): WatchEvent<T>[] {
  const byObject = new Map<string, WatchEvent<T>[]>();
  for (const event of batch) {
    const key = `${event.object.metadata?.namespace}/${event.object.metadata?.name}`;
    byObject.set(key, [...(byObject.get(key) ?? []), event]);
  }
  const queues = [...byObject.values()];
  const order: WatchEvent<T>[] = [];
  while (queues.length > 0) {
    const at = chance.below(queues.length);
    order.push(queues[at]!.shift()!);
    if (queues[at]!.length === 0) queues.splice(at, 1);
  }
  return order;
}

function disturbedBindings(stream: BindStream, chance: Chance): BindStream {
  return {
    ...stream,
    async bind(...call) {
      const fate = chance.below(25);
      if (fate === 0) throw unavailable('the binding was lost on its way');
      const answer = await stream.bind(...call);
      if (fate === 1) throw unavailable('the answer was lost on its way');
      return answer;
    },
    close: () => stream.close(),
  };
}
