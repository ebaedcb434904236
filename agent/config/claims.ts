import type { Node, PersistentVolume, PersistentVolumeClaim, Pod } from '../../api/generated/types.ts';
import { claimsOf } from '../../api/kinds/storage.ts';
import type { Clock } from '../../client/clock.ts';
import type { ResourceClient } from '../../client/services/resource-client.ts';
import { createClaimTurns, hasStarted } from '../volumes/claim-turns.ts';
import type { Claimed } from '../volumes/claimed-volume.ts';
import { createKnownObjects } from './known-objects.ts';

/** What a pod's claims stand for. */
export interface PodClaims {
  /** By the claim's name; those that do not exist are left out. */
  readonly claims: ReadonlyMap<string, Claimed>;
  /** This machine's Node, when a volume is only for some nodes. */
  readonly node: Node | undefined;
}

/** Called whenever containers start. What is bound, and for which node, is asked anew. */
export interface ClaimSource {
  /** While the server is away, what it said last stands. Throws ApiError when something is not known. */
  forPod(pod: Pod): Promise<PodClaims>;
}

export interface ClaimSourceOptions {
  readonly claims: Pick<ResourceClient<PersistentVolumeClaim>, 'get'>;
  readonly volumes: Pick<ResourceClient<PersistentVolume>, 'get'>;
  readonly nodes: Pick<ResourceClient<Node>, 'get'>;
  readonly nodeName: string;
  /** The pods of this node. */
  readonly pods: { list(): readonly Pod[] };
  readonly clock: Clock;
}

/** As a `maxAgeMs`: nothing cached is recent enough, the server is asked. */
const anew = 0;
const none: PodClaims = { claims: new Map(), node: undefined };

export function createClaimSource(options: ClaimSourceOptions): ClaimSource {
  const { nodeName, pods, clock } = options;
  const turns = createClaimTurns(() => pods.list());
  const claims = createKnownObjects(options.claims, clock);
  const volumes = createKnownObjects(options.volumes, clock);
  const nodes = createKnownObjects(options.nodes, clock);

  async function claimed(pod: Pod, name: string): Promise<Claimed | undefined> {
    const claim = await claims({ namespace: pod.metadata?.namespace ?? '', name }, anew);
    const { volumeName } = claim?.spec ?? {};
    const volume = volumeName ? await volumes({ name: volumeName }, anew) : undefined;
    return claim && { claim, volume, holder: turns.holderOf(claim, pod), isUsed: hasStarted(pod) };
  }

  return {
    async forPod(pod) {
      const names = [...new Set(claimsOf(pod))];
      if (names.length === 0) return none;
      const all = await Promise.all(names.map(async (name) => [name, await claimed(pod, name)] as const));
      const known = new Map(all.flatMap(([name, each]) => (each === undefined ? [] : [[name, each] as const])));
      const isForSome = [...known.values()].some(({ volume }) => volume?.spec?.nodeAffinity !== undefined);
      return { claims: known, node: isForSome ? await nodes({ name: nodeName }, anew) : undefined };
    },
  };
}
