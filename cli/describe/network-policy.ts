import { kindNamed } from '../../api/kinds/index.ts';
import { formatLabelSelector } from '../../api/meta/labels.ts';
import { listAllJson } from '../get/listing.ts';
import type { Describer } from './describer.ts';
import { list, strings, type Tree, text, tree } from './json.ts';
import { type Lines, timeText } from './lines.ts';
import { writeDeletion, writeLabels, writeName } from './sections.ts';

/** So many of the selected pods are named. */
const mostNamed = 5;

/** What differs between the directions, in kubectl's words. */
const ingress = { rules: 'ingress', peers: 'from', heading: 'From', any: 'source' } as const;
const egress = { rules: 'egress', peers: 'to', heading: 'To', any: 'destination' } as const;
type Direction = typeof ingress | typeof egress;

/** As kubectl describes it, and which pods it selects now. */
export const describeNetworkPolicy: Describer = async (object, { session: { client }, now }) => {
  const [namespace, labelSelector] = [text(object, 'metadata', 'namespace'), selectorText(tree(object, 'spec', 'podSelector'))];
  const pods = await listAllJson(client.objects, kindNamed('Pod'), { namespace, labelSelector });
  return (lines) => {
    writeName(object, lines);
    lines.field('Created on', timeText(text(object, 'metadata', 'creationTimestamp')));
    writeLabels(object, lines);
    writeDeletion(object, lines, now);
    lines.section('Spec', (inner) => writeSpec(tree(object, 'spec'), inner));
    lines.field('Selected Pods', selectedText(pods));
  };
};

const selectorText = (selector: Tree): string => formatLabelSelector(selector);

function writeSpec(spec: Tree, lines: Lines): void {
  const whose = selectorText(tree(spec, 'podSelector'));
  lines.line(`PodSelector: ${whose || '<none> (Allowing the specific traffic to all pods in this namespace)'}`);
  const types = strings(spec, 'policyTypes');
  for (const [type, direction] of [['Ingress', ingress] as const, ['Egress', egress] as const]) {
    if (types.includes(type))
      lines.section(`Allowing ${direction.rules} traffic`, (inner) => writeRules(list(spec, direction.rules), direction, inner));
    else lines.line(`Not affecting ${direction.rules} traffic`);
  }
  lines.line(`Policy Types: ${types.join(', ')}`);
}

function writeRules(rules: readonly Tree[], direction: Direction, lines: Lines): void {
  if (rules.length === 0) lines.line(`<none> (Selected pods are isolated for ${direction.rules} connectivity)`);
  rules.forEach((rule, i) => {
    if (i > 0) lines.line('----------');
    const [ports, peers] = [list(rule, 'ports'), list(rule, direction.peers)];
    if (ports.length === 0) lines.line('To Port: <any> (traffic allowed to all ports)');
    for (const port of ports) lines.line(portText(port));
    if (peers.length === 0) lines.line(`${direction.heading}: <any> (traffic not restricted by ${direction.any})`);
    for (const peer of peers) lines.section(direction.heading, (inner) => writePeer(peer, inner));
  });
}

function portText(port: Tree): string {
  const [first, last, protocol] = [text(port, 'port') || '<any>', text(port, 'endPort'), text(port, 'protocol')];
  return last === '' ? `To Port: ${first}/${protocol}` : `To Port Range: ${first}-${last}/${protocol}`;
}

function writePeer(peer: Tree, lines: Lines): void {
  for (const [name, label] of [
    ['namespaceSelector', 'NamespaceSelector'],
    ['podSelector', 'PodSelector'],
  ] as const)
    if (name in peer) lines.line(`${label}: ${selectorText(tree(peer, name)) || '<none>'}`);
  if (!('ipBlock' in peer)) return;
  lines.section('IPBlock', (inner) => {
    inner.line(`CIDR: ${text(peer, 'ipBlock', 'cidr')}`);
    inner.line(`Except: ${strings(peer, 'ipBlock', 'except').join(', ')}`);
  });
}

/** "2 (web-a, web-b)", without pods that have ended, and those on the network of their host. */
function selectedText(pods: readonly Tree[]): string {
  const meant = pods.filter(
    (pod) => !['Succeeded', 'Failed'].includes(text(pod, 'status', 'phase')) && text(pod, 'spec', 'hostNetwork') !== 'true',
  );
  if (meant.length === 0) return 'none';
  const names = meant.map((pod) => text(pod, 'metadata', 'name')).slice(0, mostNamed);
  const more = meant.length > names.length ? `, and ${meant.length - names.length} more` : '';
  return `${meant.length} (${names.join(', ')}${more})`;
}
