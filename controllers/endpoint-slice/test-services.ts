import type { Pod, PodSpec, PodStatus, Service, ServiceSpec } from '../../api/generated/types.ts';
import { parseIpBlock } from '../../api/meta/ip-block.ts';

// Services and their pods, for tests.

/** Of the nodes that they are on. */
export const podRanges = ['10.42.0.0/16', 'fd00::/8'].flatMap((text) => parseIpBlock(text) ?? []);

export function serviceOf(spec: ServiceSpec = {}, name = 'web'): Service {
  return {
    metadata: { name, namespace: 'default', uid: 'service', labels: { team: 'a' } },
    spec: { type: 'ClusterIP', clusterIP: '10.43.0.20', ipFamilies: ['IPv4'], selector: { app: 'web' }, ports: [http], ...spec },
  };
}

const http = { name: 'http', port: 80, protocol: 'TCP', targetPort: { type: 0, intVal: 8080 } };

export interface PodFacts {
  readonly ready?: boolean;
  readonly leaving?: boolean;
  readonly spec?: PodSpec;
  readonly status?: PodStatus;
}

export function podOf(name: string, { ready = true, leaving = false, spec = {}, status = {} }: PodFacts = {}): Pod {
  return {
    metadata: {
      name,
      namespace: 'default',
      uid: `uid-${name}`,
      labels: { app: 'web' },
      ...(leaving && { deletionTimestamp: { seconds: 1, nanos: 0 } }),
    },
    spec: { nodeName: 'n1', ...spec },
    status: {
      phase: 'Running',
      podIP: `10.42.0.${Number(name.replace(/\D/g, '')) % 250}`,
      conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }],
      ...status,
    },
  };
}
