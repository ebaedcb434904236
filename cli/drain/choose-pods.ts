import type { Pod } from '../../api/generated/types.ts';
import { isFinished } from '../../api/kinds/pod/lifecycle.ts';
import { isMirror } from '../../api/kinds/pod/static-pods.ts';
import { objectKey } from '../../api/meta/key.ts';
import { controllerOf } from '../../api/meta/owner.ts';
import { toMillis } from '../../api/meta/time.ts';

/** What a drain is allowed to do to pods; kubectl's flags. */
export interface DrainConsent {
  readonly ignoreDaemonsets?: boolean | undefined;
  readonly deleteEmptydirData?: boolean | undefined;
  readonly force?: boolean | undefined;
  /** Pods that have been leaving for longer than so many seconds are not waited for; 0: all are. */
  readonly skipWaitForDeleteTimeout?: number | undefined;
}

export interface DrainChoice {
  readonly pods: readonly Pod[];
  /** What is done although it loses something, or left undone: a sentence each. */
  readonly warnings: readonly string[];
  /** Why nothing is done at all: a sentence each, with the flag that allows it. */
  readonly refusals: readonly string[];
}

interface Rule {
  readonly applies: (pod: Pod) => boolean;
  readonly allowed: (consent: DrainConsent) => boolean | undefined;
  readonly refusal: string;
  readonly warning: string;
  /** Those to which it applies stay. */
  readonly stays?: true;
}

/** In this order; a pod that stays for one is no concern of the next. */
const rules: readonly Rule[] = [
  {
    applies: (pod) => controllerOf(pod)?.kind === 'DaemonSet' && !isFinished(pod),
    allowed: ({ ignoreDaemonsets }) => ignoreDaemonsets,
    refusal: 'cannot delete pods that a DaemonSet would make again (use --ignore-daemonsets to leave them)',
    warning: 'leaving pods of DaemonSets',
    stays: true,
  },
  {
    applies: (pod) => hasLocalStorage(pod) && !isFinished(pod),
    allowed: ({ deleteEmptydirData }) => deleteEmptydirData,
    refusal: 'cannot delete pods with data in an emptyDir, which go with them (use --delete-emptydir-data to lose them)',
    warning: 'deleting pods with data in an emptyDir',
  },
  {
    applies: (pod) => controllerOf(pod) === undefined && !isFinished(pod),
    allowed: ({ force }) => force,
    refusal: 'cannot delete pods that nothing makes again, since no controller owns them (use --force to delete them for good)',
    warning: 'deleting pods for good that no controller owns',
  },
];

/**
 * Which of the pods of a node a drain ends. Mirrors of static pods stay: only their files can end them. Nothing is done
 * while one is refused, so that the user decides once.
 */
export function choosePods(pods: readonly Pod[], consent: DrainConsent, nowMs: number): DrainChoice {
  let chosen = pods.filter((pod) => !isMirror(pod) && !isSkipped(pod, consent, nowMs));
  const [warnings, refusals]: [string[], string[]] = [[], []];
  for (const rule of rules) {
    const concerned = chosen.filter(rule.applies);
    if (concerned.length === 0) continue;
    const names = concerned.map(objectKey).toSorted().join(', ');
    if (rule.allowed(consent)) warnings.push(`${rule.warning}: ${names}`);
    else refusals.push(`${rule.refusal}: ${names}`);
    if (rule.stays) chosen = chosen.filter((pod) => !rule.applies(pod));
  }
  return { pods: refusals.length > 0 ? [] : chosen, warnings: refusals.length > 0 ? [] : warnings, refusals };
}

function isSkipped({ metadata }: Pod, { skipWaitForDeleteTimeout = 0 }: DrainConsent, nowMs: number): boolean {
  const { deletionTimestamp } = metadata ?? {};
  if (!deletionTimestamp || skipWaitForDeleteTimeout === 0) return false;
  return nowMs - toMillis(deletionTimestamp) > skipWaitForDeleteTimeout * 1_000;
}

function hasLocalStorage({ spec }: Pod): boolean {
  return spec?.volumes?.some(({ volumeSource }) => volumeSource?.emptyDir !== undefined) === true;
}
