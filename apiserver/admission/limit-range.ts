import { objectForbidden } from '../../api/errors/index.ts';
import type { Container, LimitRange, PersistentVolumeClaim, Pod, Quantity } from '../../api/generated/types.ts';
import { resourceOf } from '../../api/kinds/identity.ts';
import { isKind } from '../../api/kinds/index.ts';
import type { ApiObject, Kind } from '../../api/kinds/kind.ts';
import { qosClass } from '../../api/kinds/pod/qos.ts';
import { equalValues } from '../../api/meta/equal.ts';
import { annotations } from '../../api/meta/well-known.ts';
import { andThen, type Eventually } from '../eventually.ts';
import type { Admission } from './admission.ts';
import { claimViolations, podViolations } from './limit-range-bounds.ts';

/** The limit ranges of a namespace, never older than the last acknowledged write; undefined: none. */
export type LimitRangesReader = (namespace: string) => Eventually<readonly LimitRange[] | undefined>;

/**
 * As in Kubernetes' LimitRanger: containers of a new pod get the requests and limits that they lack, and what a pod or
 * a claim asks for must be within the bounds of every limit range of its namespace. A resize of a pod and a change of
 * what a claim asks for are judged the same, but get nothing. Other changes are not, so that what was there before a
 * limit range can still be labelled, bound and deleted.
 */
export function limitRangeRules(listRanges: LimitRangesReader): Admission {
  return {
    reads: { Pod: ['LimitRange'], PersistentVolumeClaim: ['LimitRange'] },
    create(kind, object) {
      if (!isLimited(kind)) return undefined;
      return andThen(listRanges(object.metadata?.namespace ?? ''), (ranges) => {
        if (!ranges) return;
        if (isKind(kind, 'Pod')) applyDefaults(object as Pod, ranges);
        enforce(kind, object, ranges);
      });
    },
    async update(kind, next, previous) {
      if (!isLimited(kind) || previous.metadata?.deletionTimestamp || !asksForOther(next, previous)) return;
      const ranges = await listRanges(next.metadata?.namespace ?? '');
      if (ranges) enforce(kind, next, ranges);
    },
  };
}

const isLimited = (kind: Kind): boolean => isKind(kind, 'Pod') || isKind(kind, 'PersistentVolumeClaim');

type Asking = Pod & PersistentVolumeClaim;

function asksForOther(next: ApiObject, previous: ApiObject): boolean {
  const amounts = ({ spec }: Asking) => [
    spec?.resources,
    ...[...(spec?.containers ?? []), ...(spec?.initContainers ?? [])].map(({ resources }) => resources),
  ];
  return next !== previous && !equalValues(amounts(next as Asking), amounts(previous as Asking));
}

function enforce(kind: Kind, object: ApiObject, ranges: readonly LimitRange[]): void {
  const violationsOf = isKind(kind, 'Pod') ? podViolations : claimViolations;
  for (const range of ranges) {
    const [first, ...others] = violationsOf(range, object);
    if (first === undefined) continue;
    const name = object.metadata?.name || object.metadata?.generateName || '';
    const why = others.length === 0 ? first : `[${[first, ...others].join(', ')}]`;
    throw objectForbidden(resourceOf(kind), name, why);
  }
}

/** Each limit range in turn fills in what is still missing; the annotation tells of the last that set something. */
function applyDefaults(pod: Pod, ranges: readonly LimitRange[]): void {
  for (const range of ranges) {
    const set = [
      ...(pod.spec?.containers ?? []).flatMap((container) => complete(container, range, 'container')),
      ...(pod.spec?.initContainers ?? []).flatMap((container) => complete(container, range, 'init container')),
    ];
    if (set.length === 0) continue;
    const told = { [annotations.limitRanger]: `LimitRanger plugin set: ${set.join('; ')}` };
    pod.metadata = { ...pod.metadata, annotations: { ...pod.metadata?.annotations, ...told } };
    // The QoS class was computed before the defaults were set.
    if (pod.status) pod.status.qosClass = qosClass(pod);
  }
}

/** Completes one container; what it says is a part of the annotation for each of requests and limits. */
function complete(container: Container, { spec }: LimitRange, what: string): string[] {
  const items = (spec?.limits ?? []).filter(({ type }) => type === 'Container');
  const resources = { ...container.resources };
  const fill = (part: 'requests' | 'limits', from: 'defaultRequest' | 'default', word: string): string[] => {
    const usual: Record<string, Quantity> = Object.assign({}, ...items.map((item) => item[from] ?? {}));
    const missing = Object.keys(usual).filter((name) => resources[part]?.[name] === undefined);
    if (missing.length === 0) return [];
    resources[part] = { ...resources[part], ...Object.fromEntries(missing.map((name) => [name, { ...usual[name] }])) };
    return [`${missing.toSorted().join(', ')} ${word} for ${what} ${container.name ?? ''}`];
  };
  const told = [...fill('requests', 'defaultRequest', 'request'), ...fill('limits', 'default', 'limit')];
  if (told.length > 0) container.resources = resources;
  return told;
}
