import { objectForbidden } from '../../api/errors/index.ts';
import type { Pod, PriorityClass } from '../../api/generated/types.ts';
import { resourceOf } from '../../api/kinds/identity.ts';
import { isKind } from '../../api/kinds/index.ts';
import type { ApiObject, Kind } from '../../api/kinds/kind.ts';
import { isMirror } from '../../api/kinds/pod/static-pods.ts';
import { isSystemPriorityClass } from '../../api/kinds/priority-class/system.ts';
import { namespaces } from '../../api/meta/well-known.ts';
import { andThen, type Eventually } from '../eventually.ts';
import type { Admission } from './admission.ts';

/** What the rules read of priority classes, never older than the last acknowledged write. */
export interface PriorityClasses {
  get(name: string): Eventually<PriorityClass | undefined>;
  list(): Eventually<readonly PriorityClass[]>;
}

const byDefault = { value: 0, preemptionPolicy: 'PreemptLowerPriority' } as const;

export interface PriorityOptions {
  /** Besides kube-system: where pods may use the classes of the system; "*" is every namespace. */
  readonly systemPriorityNamespaces?: readonly string[] | undefined;
}

/**
 * As in Kubernetes: a new pod gets priority and preemption policy of the class that it names, or of the class that is
 * the default of all, or 0. It is refused when there is no such class, and when it says something else itself. At most
 * one class is the default of all. The classes of the system, whose pods preempt those of every tenant, are for pods of
 * kube-system; a mirror pod tells of one that runs already.
 */
export function priorityRules(classes: PriorityClasses, { systemPriorityNamespaces = [] }: PriorityOptions = {}): Admission {
  const permitted = [namespaces.system, ...systemPriorityNamespaces];
  return {
    reads: { Pod: ['PriorityClass'], PriorityClass: ['PriorityClass'] },
    create(kind, object) {
      if (!isKind(kind, 'Pod')) return refuseSecondDefault(classes, kind, object);
      const pod = object as Pod;
      refuseSystemClass(pod, permitted);
      const name = pod.spec?.priorityClassName;
      return andThen(name ? classes.get(name) : defaultClass(classes), (found) => applyPriority(pod, found));
    },
    async update(kind, next) {
      await refuseSecondDefault(classes, kind, next);
    },
  };
}

function refuseSystemClass(pod: Pod, permitted: readonly string[]): void {
  const { metadata: { name, generateName, namespace = '' } = {}, spec: { priorityClassName } = {} } = pod;
  if (!isSystemPriorityClass(priorityClassName) || isMirror(pod)) return;
  if (permitted.includes(namespace) || permitted.includes('*')) return;
  throw objectForbidden(
    'pods',
    name || generateName || '',
    `pods with the priority class ${priorityClassName} are only permitted in ` +
      `${permitted.length === 1 ? 'namespace' : 'namespaces'} ${permitted.join(', ')} (berth server --system-priority-namespaces)`,
  );
}

function applyPriority({ metadata, spec }: Pod, found: PriorityClass | undefined): void {
  if (!spec) return;
  const refuse = (why: string) => objectForbidden('pods', metadata?.name ?? '', why);
  const name = spec.priorityClassName;
  if (name && !found) throw refuse(`no PriorityClass with name ${name} was found`);
  const { value: priority = 0, preemptionPolicy = byDefault.preemptionPolicy } = found ?? byDefault;
  if (spec.priority !== undefined && spec.priority !== priority)
    throw refuse(
      `the integer value of priority (${spec.priority}) must not be provided in pod spec; ` +
        `priority admission controller computed ${priority} from the given PriorityClass name`,
    );
  if (spec.preemptionPolicy && spec.preemptionPolicy !== preemptionPolicy)
    throw refuse(
      `the string value of PreemptionPolicy (${spec.preemptionPolicy}) must not be provided in pod spec; ` +
        `priority admission controller computed ${preemptionPolicy} from the given PriorityClass name`,
    );
  if (found?.metadata?.name) spec.priorityClassName = found.metadata.name;
  spec.priority = priority;
  spec.preemptionPolicy = preemptionPolicy;
}

/** Should there be several in spite of the rule (two came at once), the one with the lowest value, as in Kubernetes. */
function defaultClass(classes: PriorityClasses): Eventually<PriorityClass | undefined> {
  return andThen(classes.list(), (all) => {
    const defaults = all.filter(({ globalDefault }) => globalDefault);
    return defaults.sort((a, b) => (a.value ?? 0) - (b.value ?? 0))[0];
  });
}

function refuseSecondDefault(classes: PriorityClasses, kind: Kind, object: ApiObject): Eventually<void> {
  const { globalDefault, metadata } = object as PriorityClass;
  if (!isKind(kind, 'PriorityClass') || !globalDefault) return undefined;
  return andThen(classes.list(), (all) => {
    const other = all.find((each) => each.globalDefault && each.metadata?.name !== metadata?.name);
    if (!other) return;
    const why = `PriorityClass ${other.metadata?.name} is already marked as default. Only one default can exist`;
    throw objectForbidden(resourceOf(kind), metadata?.name ?? '', why);
  });
}
