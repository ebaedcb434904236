/**
 * In these domains a node gives itself what is listed, and nothing else: other labels there say what a node may be
 * trusted with, or what it is for.
 */
const systemDomain = /(^|\.)(kubernetes|k8s)\.io$/;
const ownDomains = /(^|\.)(kubelet\.kubernetes\.io|node\.kubernetes\.io)$/;
const own: readonly string[] = [
  'kubernetes.io/hostname',
  'kubernetes.io/arch',
  'kubernetes.io/os',
  'beta.kubernetes.io/arch',
  'beta.kubernetes.io/os',
  'beta.kubernetes.io/instance-type',
  'node.kubernetes.io/instance-type',
  'topology.kubernetes.io/region',
  'topology.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/region',
  'failure-domain.beta.kubernetes.io/zone',
];

/** Whether a node may give itself a label, as Kubernetes' admission plugin NodeRestriction sees it. */
export function mayLabelItself(key: string): boolean {
  const slash = key.indexOf('/');
  const domain = slash < 0 ? '' : key.slice(0, slash);
  return !systemDomain.test(domain) || ownDomains.test(domain) || own.includes(key);
}
