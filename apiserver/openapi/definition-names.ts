import { isCustom } from '../../api/kinds/custom/custom-kind.ts';
import { groupOf } from '../../api/kinds/identity.ts';
import type { Kind } from '../../api/kinds/kind.ts';

/** What stands before the version in the names of definitions, by package, where it is not "io.k8s.api.PACKAGE". */
const prefixes: Readonly<Record<string, string>> = {
  apiextensions: 'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions',
  meta: 'io.k8s.apimachinery.pkg.apis.meta',
  metrics: 'io.k8s.metrics.pkg.apis.metrics',
};

const special: Readonly<Record<string, string>> = {
  'berth.meta.v1.Quantity': 'io.k8s.apimachinery.pkg.api.resource.Quantity',
  'berth.meta.v1.IntOrString': 'io.k8s.apimachinery.pkg.util.intstr.IntOrString',
  'berth.meta.v1.RawExtension': 'io.k8s.apimachinery.pkg.runtime.RawExtension',
  'google.protobuf.Timestamp': 'io.k8s.apimachinery.pkg.apis.meta.v1.Time',
  'google.protobuf.Duration': 'io.k8s.apimachinery.pkg.apis.meta.v1.Duration',
};
/** What a timestamp with fractions of a second is called; it has no message of its own. */
export const MICRO_TIME = 'berth.meta.v1.MicroTime';

/** The name of a message's definition, as Kubernetes has it: "io.k8s.api.core.v1.Pod". */
export function definitionName(message: string): string {
  const known = special[message];
  if (known) return known;
  const [, pkg = '', ...rest] = message.split('.');
  return [prefixes[pkg] ?? `io.k8s.api.${pkg}`, ...rest].join('.');
}

/** The name of the definition of a kind in its version. Those of users' kinds begin with the group, backwards. */
export function kindDefinitionName(kind: Pick<Kind, 'apiVersion' | 'kind' | 'message'>): string {
  const version = kind.apiVersion.slice(kind.apiVersion.indexOf('/') + 1);
  if (isCustom(kind)) return [...groupOf(kind.apiVersion).split('.').reverse(), version, kind.kind].join('.');
  const [, pkg = ''] = kind.message.split('.');
  return [prefixes[pkg] ?? `io.k8s.api.${pkg}`, version, kind.kind].join('.');
}
