import type { Service } from '../../generated/types.ts';
import { formatLabels } from '../../meta/labels.ts';
import { ageColumn, NONE, nameColumn, textColumn, UNKNOWN } from '../cells.ts';
import type { Column } from '../kind.ts';

function externalIp({ spec = {}, status }: Service): string {
  const { type, externalIPs = [], externalName = '' } = spec;
  if (type === 'ExternalName') return externalName;
  if (type === 'ClusterIP' || type === 'NodePort') return externalIPs.join(',') || NONE;
  if (type !== 'LoadBalancer') return UNKNOWN;
  const balanced = (status?.loadBalancer?.ingress ?? []).map(({ ip, hostname }) => ip || hostname || '').filter(Boolean);
  return [...new Set(balanced), ...externalIPs].join(',') || '<pending>';
}

/** "80/TCP,443:31234/TCP": ports, and those of the nodes. */
function portsOf({ spec }: Service): string {
  const ports = (spec?.ports ?? []).map(({ port = 0, nodePort = 0, protocol = '' }) =>
    nodePort > 0 ? `${port}:${nodePort}/${protocol}` : `${port}/${protocol}`,
  );
  return ports.join(',') || NONE;
}

export const serviceColumns: readonly Column<Service>[] = [
  nameColumn,
  textColumn('TYPE', ({ spec }) => spec?.type ?? ''),
  textColumn('CLUSTER-IP', ({ spec }) => spec?.clusterIPs?.[0] ?? NONE),
  textColumn('EXTERNAL-IP', externalIp),
  textColumn('PORT(S)', portsOf),
  ageColumn,
  textColumn('SELECTOR', ({ spec }) => formatLabels(spec?.selector) || NONE, 1),
];
