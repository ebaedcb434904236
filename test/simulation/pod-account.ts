import { decodeMessage } from '../../api/codec/message.ts';
import type { ObjectMeta, Pod, ReplicaSet } from '../../api/generated/types.ts';
import { keyPrefixOf } from '../../api/kinds/identity.ts';
import { kindNamed } from '../../api/kinds/index.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import { isFinished } from '../../api/kinds/pod/lifecycle.ts';
import { controllerOf } from '../../api/meta/owner.ts';
import type { Clock } from '../../client/index.ts';
import type { MemoryServer } from './memory-server.ts';

/** A former size stays valid for so long: a decision based on it may still be in flight. */
const windowMs = 60_000;

const noted = (['Lease', 'Deployment', 'ReplicaSet', 'Pod'] as const).map((name) => kindNamed(name) as Kind);
const mostTrail = 400;

interface Noted {
  readonly metadata?: ObjectMeta;
  readonly spec?: { replicas?: number; holderIdentity?: string; nodeName?: string; paused?: boolean };
  readonly status?: { phase?: string; replicas?: number; availableReplicas?: number };
}

interface Sizes {
  name: string;
  current: number;
  /** Sizes of before, and until when they count. */
  readonly before: { readonly replicas: number; readonly untilMs: number }[];
}

/**
 * Follows every change that is stored, in its order, and notes each pod that was made although its ReplicaSet had as
 * many as it wanted: the pod too many that a stale cache makes.
 */
export class PodAccount {
  readonly excess: string[] = [];
  /** The last changes of what is decided on, a line each, up to the first pod too many and a few more. */
  readonly trail: string[] = [];
  made = 0;
  readonly #sizes = new Map<string, Sizes>();
  readonly #active = new Map<string, Map<string, Pod>>();
  readonly #clock: Clock;
  #after = 0;
  #isClosed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Until `signal` aborts. */
  async follow({ registry }: MemoryServer, signal: AbortSignal): Promise<void> {
    const [pods, sets] = [keyPrefixOf(kindNamed('Pod')), keyPrefixOf(kindNamed('ReplicaSet'))];
    try {
      for await (const batch of registry.storage.watch({ prefix: '', from: 0 }, signal))
        for (const { type, key, bytes } of batch) {
          this.#note(type, key, bytes);
          if (key.startsWith(pods)) this.#pod(type, decodeMessage<Pod>('berth.core.v1.Pod', bytes));
          else if (key.startsWith(sets)) this.#set(type, decodeMessage<ReplicaSet>('berth.apps.v1.ReplicaSet', bytes));
        }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  #note(type: string, key: string, bytes: Uint8Array): void {
    const kind = noted.find((each) => key.startsWith(keyPrefixOf(each)));
    if (!kind || this.#isClosed) return;
    const { metadata, spec, status } = decodeMessage<Noted>(kind.message, bytes);
    const facts = {
      labels: metadata?.labels,
      owner: metadata?.ownerReferences?.map(({ name }) => name).join(),
      leaving: metadata?.deletionTimestamp && true,
      spec: { replicas: spec?.replicas, holder: spec?.holderIdentity, node: spec?.nodeName, paused: spec?.paused },
      status: { phase: status?.phase, replicas: status?.replicas, available: status?.availableReplicas },
    };
    this.trail.push(`${this.#clock.now() % 10_000_000} ${type} ${key} ${JSON.stringify(facts)}`);
    if (this.trail.length > mostTrail) this.trail.shift();
    if (this.excess.length > 0 && ++this.#after > 20) this.#isClosed = true;
  }

  #set(type: string, { metadata, spec }: ReplicaSet): void {
    const uid = metadata?.uid ?? '';
    const replicas = type === 'delete' ? 0 : (spec?.replicas ?? 1);
    const sizes = this.#sizes.get(uid) ?? { name: metadata?.name ?? '', current: replicas, before: [] };
    if (sizes.current !== replicas) sizes.before.push({ replicas: sizes.current, untilMs: this.#clock.now() + windowMs });
    sizes.current = replicas;
    this.#sizes.set(uid, sizes);
  }

  #pod(type: string, pod: Pod): void {
    const uid = pod.metadata?.uid ?? '';
    const owner = controllerOf(pod)?.uid ?? '';
    const isActive = type !== 'delete' && !pod.metadata?.deletionTimestamp && !isFinished(pod);
    const known = [...this.#active].find(([, pods]) => pods.has(uid))?.[0];
    if (known !== undefined && (known !== owner || !isActive)) this.#active.get(known)!.delete(uid);
    if (!isActive || owner === '') return;
    const pods = this.#active.get(owner) ?? new Map<string, Pod>();
    pods.set(uid, pod);
    this.#active.set(owner, pods);
    if (known !== undefined || !this.#sizes.has(owner)) return;
    this.made++;
    const sizes = this.#sizes.get(owner)!;
    const most = Math.max(
      sizes.current,
      ...sizes.before.filter(({ untilMs }) => untilMs > this.#clock.now()).map((size) => size.replicas),
    );
    if (pods.size > most) this.excess.push(`${pod.metadata?.name}: ${pods.size} pods of ${sizes.name}, which wants ${most}`);
  }
}
