import { ApiError, isNotFound } from '../../api/errors/index.ts';
import type { Pod, ServiceAccountTokenProjection } from '../../api/generated/types.ts';
import { defaultServiceAccount } from '../../api/meta/well-known.ts';
import type { ServiceAccountClient } from '../../client/client.ts';
import { type Clock, pause } from '../../client/clock.ts';

/** What a volume shows of the pod's service account: a token, or why there is none. */
export type ShownToken = { readonly token: string } | { readonly problem: string };

/** By `tokenKey`. */
export type PodTokens = ReadonlyMap<string, ShownToken>;

/**
 * The tokens of service accounts that pods' volumes show. They are in this process's memory and in volumes in memory,
 * and nowhere else.
 */
export interface TokenSource {
  /**
   * Those of one pod, made anew when they are due. Called when containers start and every half minute. Never throws.
   */
  forPod(pod: Pod): Promise<PodTokens>;
  /** The pod is gone from this node. */
  forget(podUid: string): void;
}

export interface TokenSourceOptions {
  readonly accounts: Pick<ServiceAccountClient, 'createToken'>;
  readonly clock: Clock;
}

/** Kubernetes' rule: renewed after 80 % of its life, or a day. */
const partOfLife = 0.8;
const longestUseMs = 24 * 3_600_000;
/** The server's bound, 30 days; manifests for clusters without one ask for more. */
const mostSeconds = 2_592_000;
const usualSeconds = 3_600;
/** A controller makes the account of a new namespace: a pod that was quicker waits so long, and then as for others. */
const absentMs = [50, 100, 200, 400, 800, 1_200];

const never = new AbortController().signal;

const isAccountMissing = (error: unknown): boolean =>
  isNotFound(error) && error instanceof ApiError && error.subject.kind === 'ServiceAccount';

interface Held {
  readonly token: string;
  readonly madeAt: number;
  readonly lifeMs: number;
}

/** Two sources that ask for the same show the same token. */
export function tokenKey({ audience = '', expirationSeconds = usualSeconds }: ServiceAccountTokenProjection): string {
  return `${expirationSeconds} ${audience}`;
}

export function createTokenSource({ accounts, clock }: TokenSourceOptions): TokenSource {
  const held = new Map<string, Map<string, Held>>();

  async function request(pod: Pod, wanted: ServiceAccountTokenProjection): Promise<Held> {
    const { namespace = '', name = '', uid = '' } = pod.metadata ?? {};
    const account = { namespace, name: pod.spec?.serviceAccountName || defaultServiceAccount };
    const expirationSeconds = Math.min(mostSeconds, wanted.expirationSeconds ?? usualSeconds);
    const madeAt = clock.now();
    const { token = '' } = await accounts.createToken(account, {
      audiences: wanted.audience ? [wanted.audience] : [],
      expirationSeconds,
      boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name, uid },
    });
    return { token, madeAt, lifeMs: expirationSeconds * 1_000 };
  }

  /** The first one of a pod, whose account may be about to be made. */
  async function requestFirst(pod: Pod, wanted: ServiceAccountTokenProjection): Promise<Held> {
    for (const ms of absentMs)
      try {
        return await request(pod, wanted);
      } catch (error) {
        if (!isAccountMissing(error)) throw error;
        await pause(ms, never, clock);
      }
    return request(pod, wanted);
  }

  /** A clock that is set back makes nothing young again. */
  const ageOf = ({ madeAt }: Held): number => Math.abs(clock.now() - madeAt);
  const isDue = (last: Held): boolean => ageOf(last) >= Math.min(last.lifeMs * partOfLife, longestUseMs);

  async function shownFor(pod: Pod, own: Map<string, Held>, wanted: ServiceAccountTokenProjection): Promise<ShownToken> {
    const key = tokenKey(wanted);
    const last = own.get(key);
    if (last !== undefined && !isDue(last)) return { token: last.token };
    try {
      const made = await (last === undefined ? requestFirst : request)(pod, wanted);
      own.set(key, made);
      return { token: made.token };
    } catch (error) {
      // Asked again half a minute later; until its end the old one is as good.
      if (last !== undefined && ageOf(last) < last.lifeMs) return { token: last.token };
      return { problem: `cannot get a token: ${error instanceof Error ? error.message : String(error)}` };
    }
  }

  return {
    async forPod(pod) {
      const wanted = shownTokens(pod);
      const shown = new Map<string, ShownToken>();
      if (wanted.length === 0) return shown;
      const uid = pod.metadata?.uid ?? '';
      const own = held.get(uid) ?? new Map<string, Held>();
      held.set(uid, own);
      await Promise.all(wanted.map(async (each) => shown.set(tokenKey(each), await shownFor(pod, own, each))));
      return shown;
    },
    forget: (podUid) => void held.delete(podUid),
  };
}

/** One for each token that is needed. */
function shownTokens(pod: Pod): ServiceAccountTokenProjection[] {
  const sources = (pod.spec?.volumes ?? []).flatMap(({ volumeSource }) => volumeSource?.projected?.sources ?? []);
  const all = sources.flatMap(({ serviceAccountToken }) => serviceAccountToken ?? []);
  return [...new Map(all.map((each) => [tokenKey(each), each])).values()];
}
