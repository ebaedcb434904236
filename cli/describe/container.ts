import { capital } from './generic.ts';
import { list, strings, type Tree, text, tree } from './json.ts';
import { type Lines, pairs, timeText } from './lines.ts';

/** What a container is, what it does and why, and, when it failed, the last lines that it wrote. */
export function writeContainer(container: Tree, status: Tree, logLines: readonly string[], lines: Lines): void {
  lines.field('Container ID', text(status, 'containerID'));
  lines.field('Image', text(container, 'image'));
  lines.field('Image ID', text(status, 'imageID'));
  writeCommand(container, lines);
  writeStatus(status, logLines, lines);
  writeSettings(container, lines);
}

/** What a container of a template would be. */
export function writePlannedContainer(container: Tree, lines: Lines): void {
  lines.field('Image', text(container, 'image'));
  writeCommand(container, lines);
  writeSettings(container, lines);
}

function writeCommand(container: Tree, lines: Lines): void {
  writePorts(list(container, 'ports'), lines);
  for (const name of ['command', 'args'] as const)
    writeWords(name === 'args' ? 'Args' : 'Command', strings(container, name), lines);
}

function writeStatus(status: Tree, logLines: readonly string[], lines: Lines): void {
  writeState('State', tree(status, 'state'), lines);
  if (Object.keys(tree(status, 'lastState')).length > 0) writeState('Last State', tree(status, 'lastState'), lines);
  lines.field('Ready', status.ready === true ? 'True' : 'False');
  lines.field('Restart Count', text(status, 'restartCount') || '0');
  if (logLines.length > 0)
    lines.section('Last Log Lines', (inner) => {
      for (const line of logLines) inner.line(line);
    });
}

function writeSettings(container: Tree, lines: Lines): void {
  for (const name of ['limits', 'requests'] as const) {
    const amounts = Object.entries(tree(container, 'resources', name));
    if (amounts.length > 0)
      lines.section(name === 'limits' ? 'Limits' : 'Requests', (inner) => {
        for (const [resource, amount] of amounts) inner.field(resource, String(amount));
      });
  }
  for (const [label, name] of [
    ['Liveness', 'livenessProbe'],
    ['Readiness', 'readinessProbe'],
    ['Startup', 'startupProbe'],
  ] as const)
    if (container[name] !== undefined) lines.field(label, probeText(tree(container, name)));
  writeEnvironment(container, lines);
  writeMounts(list(container, 'volumeMounts'), lines);
}

function writePorts(ports: readonly Tree[], lines: Lines): void {
  const shown = (name: string): string =>
    ports.map((port) => `${text(port, name) || '0'}/${text(port, 'protocol') || 'TCP'}`).join(', ');
  lines.field(ports.length > 1 ? 'Ports' : 'Port', shown('containerPort'));
  lines.field(ports.length > 1 ? 'Host Ports' : 'Host Port', shown('hostPort'));
}

function writeWords(label: string, words: readonly string[], lines: Lines): void {
  if (words.length === 0) return;
  lines.section(label, (inner) => {
    for (const line of words.flatMap((word) => word.split('\n'))) inner.line(line);
  });
}

/** The state in which a container is, with everything that is known of it. */
function writeState(label: string, state: Tree, lines: Lines): void {
  const [name = 'waiting'] = Object.keys(state);
  const details = tree(state, name);
  lines.field(label, capital(name));
  const detail = (heading: string, value: string): void => {
    if (value !== '') lines.field(`  ${heading}`, value);
  };
  detail('Reason', text(details, 'reason'));
  detail('Message', text(details, 'message'));
  if (name === 'terminated') {
    lines.field('  Exit Code', text(details, 'exitCode') || '0');
    if (text(details, 'signal') !== '0') detail('Signal', text(details, 'signal'));
  }
  detail('Started', timeText(text(details, 'startedAt')));
  detail('Finished', timeText(text(details, 'finishedAt')));
}

/** "httpGet path=/healthz port=80 delay=0s timeout=1s period=10s #success=1 #failure=3". */
function probeText(probe: Tree): string {
  const [type = ''] = Object.keys(probe).filter((name) => typeof probe[name] === 'object');
  const how = Object.entries(tree(probe, type)).map(([name, value]) => {
    return `${name}=${typeof value === 'object' ? JSON.stringify(value) : String(value)}`;
  });
  const number = (name: string): string => text(probe, name) || '0';
  const times = `delay=${number('initialDelaySeconds')}s timeout=${number('timeoutSeconds')}s period=${number('periodSeconds')}s`;
  return [type, ...how, times, `#success=${number('successThreshold')}`, `#failure=${number('failureThreshold')}`].join(' ');
}

function writeEnvironment(container: Tree, lines: Lines): void {
  const from = list(container, 'envFrom');
  if (from.length > 0)
    lines.section('Environment Variables from', (inner) => {
      for (const source of from) {
        const kind = source.configMapRef ? 'ConfigMap' : 'Secret';
        const reference = tree(source, source.configMapRef ? 'configMapRef' : 'secretRef');
        const prefix = text(source, 'prefix');
        const more = `${prefix ? ` with prefix "${prefix}"` : ''}${optionalText(reference)}`;
        inner.line(`${text(reference, 'name')}  ${kind}${more}`);
      }
    });
  const variables = list(container, 'env');
  if (variables.length === 0) lines.field('Environment', undefined);
  else
    lines.section('Environment', (inner) => {
      for (const variable of variables) inner.field(text(variable, 'name'), variableText(variable));
    });
}

/** A variable's value, or where it comes from; values that come from Secrets are never looked up. */
function variableText(variable: Tree): string {
  const from = tree(variable, 'valueFrom');
  const [source] = Object.keys(from);
  if (source === undefined) return text(variable, 'value');
  const reference = tree(from, source);
  if (source === 'fieldRef') return `(${text(reference, 'fieldPath')})`;
  if (source === 'resourceFieldRef')
    return `(${text(reference, 'resource')} of container ${text(reference, 'containerName') || 'itself'})`;
  const kind = source === 'secretKeyRef' ? 'secret' : 'config map';
  return `<the key "${text(reference, 'key')}" of ${kind} "${text(reference, 'name')}">${optionalText(reference)}`;
}

function optionalText(reference: Tree): string {
  return reference.optional === true ? '  Optional: true' : '';
}

function writeMounts(mounts: readonly Tree[], lines: Lines): void {
  if (mounts.length === 0) {
    lines.field('Mounts', undefined);
    return;
  }
  lines.section('Mounts', (inner) => {
    for (const mount of mounts) {
      const path = text(mount, 'subPath');
      const flags = [mount.readOnly === true ? 'ro' : 'rw', ...(path ? [`path="${path}"`] : [])].join(',');
      inner.line(`${text(mount, 'mountPath')} from ${text(mount, 'name')} (${flags})`);
    }
  });
}

/** Where the data of a volume come from. */
export function writeVolume(volume: Tree, lines: Lines): void {
  const { name: _, ...source } = volume;
  const [type] = Object.keys(source);
  if (type === undefined) return;
  const kind = capital(type);
  lines.field('Type', kind);
  const { items, sources: _sources, ...details } = tree(source, type);
  for (const [key, value] of Object.entries(details)) {
    // The source may have a type of its own, as hostPath does.
    const label = key === 'type' ? `${kind}Type` : capital(key);
    if (value !== '') lines.field(label, typeof value === 'object' ? JSON.stringify(value) : String(value));
  }
  for (const each of list(source, type, 'sources')) writeSource(each, lines);
  const paths = list({ items }, 'items').map((item) => `${itemSource(item)} as ${text(item, 'path')}`);
  if (paths.length > 0) lines.field('Items', paths);
}

/** A source of a projected volume, in kubectl's words. */
function writeSource(source: Tree, lines: Lines): void {
  if (source.serviceAccountToken) lines.field('TokenExpirationSeconds', text(source, 'serviceAccountToken', 'expirationSeconds'));
  if (source.downwardAPI) lines.field('DownwardAPI', 'true');
  for (const [type, label] of [
    ['configMap', 'ConfigMapName'],
    ['secret', 'SecretName'],
  ] as const) {
    if (!source[type]) continue;
    lines.field(label, text(source, type, 'name'));
    lines.field('Optional', text(source, type, 'optional') || 'false');
  }
}

/** The key of a config map or secret, or the field or the container's resource of the downward API. */
function itemSource(item: Tree): string {
  const [field, resource] = [text(item, 'fieldRef', 'fieldPath'), text(item, 'resourceFieldRef', 'resource')];
  const container = text(item, 'resourceFieldRef', 'containerName');
  return text(item, 'key') || field || (container ? `${resource} of ${container}` : resource);
}

/** "node-role/x=y:NoExecute op=Exists for 300s". */
export function tolerationText(toleration: Tree): string {
  const [key, value, effect] = ['key', 'value', 'effect'].map((name) => text(toleration, name));
  const seconds = text(toleration, 'tolerationSeconds');
  const about = `${key || '*'}${value ? `=${value}` : ''}${effect ? `:${effect}` : ''}`;
  return `${about}${toleration.operator === 'Exists' ? ' op=Exists' : ''}${seconds ? ` for ${seconds}s` : ''}`;
}

/** Node selectors as labels. */
export function selectorLines(pod: Tree): string[] {
  return pairs(tree(pod, 'spec', 'nodeSelector'));
}
