import { list, strings, type Tree, text, tree } from './json.ts';
import { type Lines, pairs } from './lines.ts';

/** What a person wants to know of a pod: where it runs, what its containers do and why, and what it mounts. */
export function describePod(pod: Tree, lines: Lines): void {
  lines.field('Node', [text(pod, 'spec', 'nodeName'), text(pod, 'status', 'hostIP')].filter(Boolean).join('/'));
  if (text(pod, 'status', 'startTime')) lines.field('Start Time', text(pod, 'status', 'startTime'));
  lines.field('Status', text(pod, 'metadata', 'deletionTimestamp') ? 'Terminating' : text(pod, 'status', 'phase'));
  for (const [label, name] of [
    ['Reason', 'reason'],
    ['Message', 'message'],
  ] as const) {
    if (text(pod, 'status', name)) lines.field(label, text(pod, 'status', name));
  }
  lines.field('IP', text(pod, 'status', 'podIP'));
  lines.section('Containers', (inner) => {
    const statuses = list(pod, 'status', 'containerStatuses');
    for (const container of list(pod, 'spec', 'containers')) {
      const status = statuses.find((each) => each.name === container.name) ?? {};
      inner.section(text(container, 'name'), (body) => describeContainer(container, status, body));
    }
  });
  lines.table(
    'Conditions',
    ['Type', 'Status', 'Reason', 'Message'],
    list(pod, 'status', 'conditions').map((each) => ['type', 'status', 'reason', 'message'].map((name) => text(each, name))),
  );
  lines.section('Volumes', (inner) => {
    const volumes = list(pod, 'spec', 'volumes');
    for (const volume of volumes) inner.field(text(volume, 'name'), volumeText(volume));
    if (volumes.length === 0) inner.field('none', undefined);
  });
  lines.field('QoS Class', text(pod, 'status', 'qosClass'));
  lines.field('Node-Selectors', pairs(tree(pod, 'spec', 'nodeSelector')));
  lines.field('Tolerations', list(pod, 'spec', 'tolerations').map(tolerationText));
}

function describeContainer(container: Tree, status: Tree, lines: Lines): void {
  if (text(status, 'containerID')) lines.field('Container ID', text(status, 'containerID'));
  lines.field('Image', text(container, 'image'));
  if (text(status, 'imageID')) lines.field('Image ID', text(status, 'imageID'));
  const ports = list(container, 'ports').map((port) => {
    const host = text(port, 'hostPort');
    return `${text(port, 'containerPort')}/${text(port, 'protocol')}${host ? ` (host port ${host})` : ''}`;
  });
  if (ports.length > 0) lines.field('Ports', ports.join(', '));
  if (list(container, 'command').length > 0) lines.field('Command', strings(container, 'command'));
  if (list(container, 'args').length > 0)
    lines.field(
      'Args',
      strings(container, 'args').flatMap((each) => each.split('\n')),
    );
  describeState('State', tree(status, 'state'), lines);
  if (Object.keys(tree(status, 'lastState')).length > 0) describeState('Last State', tree(status, 'lastState'), lines);
  lines.field('Ready', status.ready === true ? 'True' : 'False');
  lines.field('Restart Count', text(status, 'restartCount') || '0');
  for (const [label, name] of [
    ['Limits', 'limits'],
    ['Requests', 'requests'],
  ] as const) {
    const amounts = pairs(tree(container, 'resources', name), ': ');
    if (amounts.length > 0) lines.field(label, amounts);
  }
  lines.field('Environment', list(container, 'env').map(environmentText));
  lines.field(
    'Mounts',
    list(container, 'volumeMounts').map(
      (mount) => `${text(mount, 'mountPath')} from ${text(mount, 'name')} (${mount.readOnly === true ? 'ro' : 'rw'})`,
    ),
  );
}

function describeState(label: string, state: Tree, lines: Lines): void {
  const [name = 'waiting'] = Object.keys(state);
  const details = tree(state, name);
  lines.field(label, name.charAt(0).toUpperCase() + name.slice(1));
  for (const key of ['reason', 'message', 'exitCode', 'signal', 'startedAt', 'finishedAt']) {
    const value = text(details, key);
    if (value && !(key === 'signal' && value === '0')) lines.field(`  ${key.charAt(0).toUpperCase()}${key.slice(1)}`, value);
  }
}

function environmentText(variable: Tree): string {
  const from = tree(variable, 'valueFrom');
  const [kind] = Object.keys(from);
  if (kind === undefined) return `${text(variable, 'name')}: ${text(variable, 'value')}`;
  const source = tree(from, kind);
  const where =
    text(source, 'fieldPath') || text(source, 'resource') || `the key "${text(source, 'key')}" of "${text(source, 'name')}"`;
  return `${text(variable, 'name')}: (${kind.replace(/Ref$|KeyRef$/, '')} ${where})`;
}

function volumeText(volume: Tree): string {
  const { name: _, ...source } = volume;
  const [kind] = Object.keys(source);
  if (kind === undefined) return '';
  const details = pairs(
    Object.fromEntries(Object.entries(tree(source, kind)).filter(([, value]) => typeof value !== 'object')),
    ': ',
  );
  return [kind, ...details].join('  ');
}

function tolerationText(toleration: Tree): string {
  const value = text(toleration, 'value');
  const key = `${text(toleration, 'key') || '*'}${value ? `=${value}` : ''}`;
  const effect = text(toleration, 'effect');
  const seconds = text(toleration, 'tolerationSeconds');
  return `${key}${effect ? `:${effect}` : ''}${toleration.operator === 'Exists' ? ' op=Exists' : ''}${seconds ? ` for ${seconds}s` : ''}`;
}
