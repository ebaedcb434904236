import { firstOf } from '../../api/kinds/cells.ts';
import { kindNamed } from '../../api/kinds/index.ts';
import { formatLabels } from '../../api/meta/labels.ts';
import { serviceLabels } from '../../api/meta/service-names.ts';
import { listAllJson } from '../get/listing.ts';
import type { Describer } from './describer.ts';
import { list, strings, type Tree, text, tree } from './json.ts';
import type { Lines } from './lines.ts';
import { writeDeletion, writeLabels, writeName } from './sections.ts';

const UNSET = '<unset>';

/** Its addresses and ports, with the endpoints behind each port. */
export const describeService: Describer = async (object, { session: { client }, now }) => {
  const [name, namespace] = [text(object, 'metadata', 'name'), text(object, 'metadata', 'namespace')];
  const labelSelector = `${serviceLabels.serviceName}=${name}`;
  const slices = await listAllJson(client.objects, kindNamed('EndpointSlice'), { namespace, labelSelector });
  return (lines) => writeService(object, slices, lines, now);
};

function writeService(object: Tree, slices: readonly Tree[], lines: Lines, now: Date): void {
  const spec = tree(object, 'spec');
  const said = (label: string, value: string | readonly string[]): void => {
    if (value.length > 0) lines.field(label, value);
  };
  writeName(object, lines);
  writeLabels(object, lines);
  writeDeletion(object, lines, now);
  lines.field('Selector', formatLabels(tree(spec, 'selector') as Record<string, string>));
  lines.field('Type', text(spec, 'type'));
  said('IP Family Policy', text(spec, 'ipFamilyPolicy'));
  said('IP Families', strings(spec, 'ipFamilies').join(','));
  lines.field('IP', text(spec, 'clusterIP'));
  said('IPs', strings(spec, 'clusterIPs').join(','));
  said('External IPs', strings(spec, 'externalIPs').join(','));
  said('Desired LoadBalancer IP', text(spec, 'loadBalancerIP'));
  const ingress = list(object, 'status', 'loadBalancer', 'ingress');
  said('LoadBalancer Ingress', ingress.map((each) => text(each, 'ip') || text(each, 'hostname')).join(', '));
  said('External Name', text(spec, 'externalName'));
  for (const port of list(spec, 'ports')) writePort(port, slices, lines);
  if (list(spec, 'ports').length === 0 && text(spec, 'type') !== 'ExternalName')
    lines.field('Endpoints', firstOf(readyOf(slices).flatMap((each) => strings(each, 'addresses').slice(0, 1))));
  lines.field('Session Affinity', text(spec, 'sessionAffinity'));
  said('External Traffic Policy', text(spec, 'externalTrafficPolicy'));
  said('Internal Traffic Policy', text(spec, 'internalTrafficPolicy'));
  said('HealthCheck NodePort', text(spec, 'healthCheckNodePort'));
  said('LoadBalancer Source Ranges', strings(spec, 'loadBalancerSourceRanges').join(','));
  said('Traffic Distribution', text(spec, 'trafficDistribution'));
}

function writePort(port: Tree, slices: readonly Tree[], lines: Lines): void {
  const [name, protocol] = [text(port, 'name'), text(port, 'protocol')];
  lines.field('Port', `${name || UNSET}  ${text(port, 'port')}/${protocol}`);
  lines.field('TargetPort', `${text(port, 'targetPort')}/${protocol}`);
  const nodePort = text(port, 'nodePort');
  if (nodePort !== '' && nodePort !== '0') lines.field('NodePort', `${name || UNSET}  ${nodePort}/${protocol}`);
  lines.field('Endpoints', firstOf(endpointsOf(slices, name)));
}

/** "10.42.0.5:8080": the ready endpoints of one port. */
export function endpointsOf(slices: readonly Tree[], name: string): string[] {
  return slices.flatMap((slice) => {
    const port = list(slice, 'ports').find((each) => text(each, 'name') === name);
    if (port === undefined) return [];
    const hosts = readyOf([slice]).flatMap((each) => strings(each, 'addresses').slice(0, 1));
    return hosts.map((host) => `${host.includes(':') ? `[${host}]` : host}:${text(port, 'port')}`);
  });
}

function readyOf(slices: readonly Tree[]): Tree[] {
  return slices.flatMap((slice) => list(slice, 'endpoints')).filter((each) => text(each, 'conditions', 'ready') !== 'false');
}

/** Ready and not ready addresses, by port. */
export const describeEndpoints: Describer = async (object) => (lines) => {
  writeName(object, lines);
  writeLabels(object, lines);
  lines.section('Subsets', (inner) => {
    for (const subset of list(object, 'subsets')) {
      const addresses = (field: string): string =>
        list(subset, field)
          .map((each) => text(each, 'ip'))
          .join(',');
      inner.field('Addresses', addresses('addresses'));
      inner.field('NotReadyAddresses', addresses('notReadyAddresses'));
      writePorts(list(subset, 'ports'), inner);
    }
  });
};

/** Each endpoint with its conditions, node and zone. */
export const describeEndpointSlice: Describer = async (object) => (lines) => {
  writeName(object, lines);
  writeLabels(object, lines);
  lines.field('AddressType', text(object, 'addressType'));
  writePorts(list(object, 'ports'), lines);
  const endpoints = list(object, 'endpoints');
  if (endpoints.length === 0) {
    lines.field('Endpoints', '');
    return;
  }
  lines.section('Endpoints', (inner) => {
    for (const each of endpoints) writeEndpoint(each, inner);
  });
};

function writeEndpoint(endpoint: Tree, lines: Lines): void {
  lines.field('- Addresses', strings(endpoint, 'addresses').join(','));
  const ready = text(endpoint, 'conditions', 'ready') || UNSET;
  const isLeaving = text(endpoint, 'conditions', 'terminating') === 'true';
  const serving = text(endpoint, 'conditions', 'serving') === 'true';
  lines.field('  Ready', isLeaving ? `${ready} (terminating${serving ? ', still serving' : ''})` : ready);
  lines.field('  Hostname', text(endpoint, 'hostname') || UNSET);
  const target = tree(endpoint, 'targetRef');
  if (Object.keys(target).length > 0) lines.field('  TargetRef', `${text(target, 'kind')}/${text(target, 'name')}`);
  lines.field('  NodeName', text(endpoint, 'nodeName') || UNSET);
  lines.field('  Zone', text(endpoint, 'zone') || UNSET);
}

function writePorts(ports: readonly Tree[], lines: Lines): void {
  const rows = ports.map((port) => [text(port, 'name') || UNSET, text(port, 'port') || UNSET, text(port, 'protocol')]);
  lines.table('Ports', ['Name', 'Port', 'Protocol'], rows);
}
