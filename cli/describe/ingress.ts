import { kindNamed } from '../../api/kinds/index.ts';
import { serviceLabels } from '../../api/meta/service-names.ts';
import { listAllJson } from '../get/listing.ts';
import type { Describer } from './describer.ts';
import { list, strings, type Tree, text, tree } from './json.ts';
import type { Lines } from './lines.ts';
import { writeDeletion, writeLabels, writeName } from './sections.ts';
import { endpointsOf } from './service.ts';

/** The Services of a namespace and what is behind them. */
interface Backends {
  readonly services: readonly Tree[];
  readonly slices: readonly Tree[];
}

/** As kubectl describes it: where requests go, and the endpoints there. */
export const describeIngress: Describer = async (object, { session: { client }, now }) => {
  const namespace = text(object, 'metadata', 'namespace');
  const names = serviceNames(object);
  const labelSelector = `${serviceLabels.serviceName} in (${names.join(',')})`;
  const [services, slices] =
    names.length === 0
      ? [[], []]
      : await Promise.all([
          listAllJson(client.objects, kindNamed('Service'), { namespace }),
          listAllJson(client.objects, kindNamed('EndpointSlice'), { namespace, labelSelector }),
        ]);
  return (lines) => writeIngress(object, { services, slices }, lines, now);
};

const pathsOf = (rule: Tree): Tree[] => list(rule, 'http', 'paths');

function serviceNames(object: Tree): string[] {
  const paths = list(object, 'spec', 'rules').flatMap(pathsOf);
  const backends = [tree(object, 'spec', 'defaultBackend'), ...paths.map((path) => tree(path, 'backend'))];
  return [...new Set(backends.map((backend) => text(backend, 'service', 'name')).filter((name) => name !== ''))].sort();
}

function writeIngress(object: Tree, backends: Backends, lines: Lines, now: Date): void {
  const spec = tree(object, 'spec');
  const addresses = list(object, 'status', 'loadBalancer', 'ingress').map((each) => text(each, 'ip') || text(each, 'hostname'));
  writeName(object, lines);
  writeLabels(object, lines);
  writeDeletion(object, lines, now);
  lines.field('Address', addresses.join(','));
  lines.field('Ingress Class', text(spec, 'ingressClassName'));
  lines.field('Default backend', 'defaultBackend' in spec ? backendText(tree(spec, 'defaultBackend'), backends) : '<default>');
  const certificates = list(spec, 'tls');
  if (certificates.length > 0)
    lines.section('TLS', (inner) => {
      for (const each of certificates) writeTls(each, inner);
    });
  const rules = list(spec, 'rules');
  const rows = rules.flatMap((rule) => [
    [text(rule, 'host') || '*', '', ''],
    ...pathsOf(rule).map((path) => ['', text(path, 'path') || '/', backendText(tree(path, 'backend'), backends)]),
  ]);
  lines.table(
    'Rules',
    ['Host', 'Path', 'Backends'],
    rows.length > 0 ? rows : [['*', '*', backendText(tree(spec, 'defaultBackend'), backends)]],
  );
}

function writeTls(each: Tree, lines: Lines): void {
  const [secret, hosts] = [text(each, 'secretName'), strings(each, 'hosts').join(',')];
  lines.line(secret === '' ? `SNI routes ${hosts}` : `${secret} terminates ${hosts}`);
}

function backendText(backend: Tree, { services, slices }: Backends): string {
  const resource = tree(backend, 'resource');
  if ('resource' in backend)
    return `APIGroup: ${text(resource, 'apiGroup') || '<none>'}, Kind: ${text(resource, 'kind')}, Name: ${text(resource, 'name')}`;
  const [name, portName, number] = [['name'], ['port', 'name'], ['port', 'number']].map((path) =>
    text(backend, 'service', ...path),
  );
  const shown = `${name}:${portName || number}`;
  const service = services.find((each) => text(each, 'metadata', 'name') === name);
  if (service === undefined) return `${shown} (<error: services "${name}" not found>)`;
  const port = list(service, 'spec', 'ports').find((each) =>
    portName ? text(each, 'name') === portName : text(each, 'port') === number,
  );
  const own = slices.filter((slice) => text(slice, 'metadata', 'labels', serviceLabels.serviceName) === name);
  return `${shown} (${port === undefined ? '' : endpointsOf(own, text(port, 'name')).join(',')})`;
}

/** The controller of a class, and what says more to it. */
export const describeIngressClass: Describer = async (object) => (lines) => {
  writeName(object, lines);
  writeLabels(object, lines);
  lines.field('Controller', text(object, 'spec', 'controller'));
  const parameters = tree(object, 'spec', 'parameters');
  if (text(parameters, 'kind') === '') return;
  lines.section('Parameters', (inner) => {
    for (const [label, field] of [
      ['APIGroup', 'apiGroup'],
      ['Kind', 'kind'],
      ['Scope', 'scope'],
      ['Namespace', 'namespace'],
      ['Name', 'name'],
    ] as const)
      if (text(parameters, field) !== '') inner.field(label, text(parameters, field));
  });
};
