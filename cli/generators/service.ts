import { badRequest } from '../../api/errors/index.ts';
import type { JsonObject } from '../../api/meta/merge-patch.ts';
import { portNameError, subdomainNameError } from '../../api/meta/names.ts';
import { portNumber } from './numbers.ts';

/** The types of services as `create service` calls them. */
export const serviceTypes = {
  clusterip: 'ClusterIP',
  nodeport: 'NodePort',
  loadbalancer: 'LoadBalancer',
  externalname: 'ExternalName',
} as const;

export interface ServiceFlags {
  readonly tcp?: readonly string[];
  readonly clusterip?: string;
  readonly nodePort?: string;
  readonly externalName?: string;
}

/** A service for the pods with the label app=NAME. */
export function serviceObject(name: string, type: keyof typeof serviceTypes, flags: ServiceFlags): JsonObject {
  const { clusterip, nodePort, externalName } = flags;
  const pairs = (flags.tcp ?? []).flatMap((each) => each.split(',')).filter((each) => each !== '');
  if (pairs.length === 0 && type !== 'externalname' && clusterip !== 'None')
    throw badRequest('give at least one port: --tcp PORT[:TARGETPORT]');
  if (nodePort !== undefined && pairs.length > 1) throw badRequest('--node-port is for one port: give --tcp once');
  const nameRule = externalName === undefined ? undefined : subdomainNameError(externalName);
  if (nameRule !== undefined) throw badRequest(`--external-name "${externalName}": a name ${nameRule}`);
  const ports = pairs.map((pair) => ({
    ...parsePorts(pair),
    ...(nodePort !== undefined && { nodePort: portNumber('--node-port', nodePort) }),
  }));
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, labels: { app: name } },
    spec: {
      type: serviceTypes[type],
      selector: { app: name },
      ...(ports.length > 0 && { ports }),
      ...(clusterip !== undefined && { clusterIP: clusterip }),
      ...(externalName !== undefined && { externalName }),
    },
  };
}

/** "80", "80:8080" and "80:http". */
function parsePorts(pair: string): JsonObject {
  const [first = '', second, ...more] = pair.split(':');
  if (more.length > 0) throw badRequest(`--tcp takes PORT[:TARGETPORT], not "${pair}"`);
  return {
    name: pair.replace(':', '-'),
    port: portNumber('--tcp', first),
    targetPort: targetPort(second ?? first),
    protocol: 'TCP',
  };
}

function targetPort(text: string): number | string {
  if (/^\d+$/.test(text)) return portNumber('--tcp', text);
  const rule = portNameError(text);
  if (rule !== undefined) throw badRequest(`--tcp: "${text}" is neither the number nor the name of a port: a name ${rule}`);
  return text;
}
