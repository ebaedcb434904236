import type { Service, ServicePort } from '../../api/generated/types.ts';

/**
 * Of which Services a pod gets variables: of that of Kubernetes' API always, in the place of one of the same name in
 * the pod's namespace, and of those of its namespace where `enableServiceLinks` says so. Pure; kubelet's rule.
 */
export function linkedServices(
  services: readonly Service[],
  kubernetes: Service | undefined,
  enableServiceLinks: boolean,
): readonly Service[] {
  const own = enableServiceLinks ? services : [];
  if (kubernetes === undefined || !hasLinks(kubernetes)) return own;
  return [kubernetes, ...own.filter(({ metadata }) => metadata?.name !== kubernetes.metadata?.name)];
}

/**
 * Kubernetes' variables of the Services of one namespace, in the order of their names: of a Service "my-db"
 * `MY_DB_SERVICE_HOST`, `MY_DB_SERVICE_PORT` (its first port), `MY_DB_SERVICE_PORT_<PORTNAME>`, and those of Docker's
 * links: `MY_DB_PORT`, and `MY_DB_PORT_<PORT>_<PROTOCOL>` with `_PROTO`, `_PORT` and `_ADDR`. Services without a
 * cluster address have none. Pure; the rules are those of kubelet's `envvars.FromServices`.
 */
export function computeServiceLinks(services: readonly Service[]): Map<string, string> {
  const links = new Map<string, string>();
  const named = services.map((service) => ({ name: service.metadata?.name ?? '', service }));
  for (const { name, service } of named.toSorted((a, b) => (a.name < b.name ? -1 : 1))) addLinks(links, name, service);
  return links;
}

const hasLinks = ({ spec: { type, clusterIP: address = '', ports = [] } = {} }: Service): boolean =>
  ports.length > 0 && type !== 'ExternalName' && address !== '' && address !== 'None';

function addLinks(links: Map<string, string>, name: string, service: Service): void {
  const { clusterIP: address = '', ports = [] } = service.spec ?? {};
  const [first] = ports;
  if (first === undefined || !hasLinks(service)) return;
  const prefix = variableName(name);
  links.set(`${prefix}_SERVICE_HOST`, address);
  links.set(`${prefix}_SERVICE_PORT`, String(first.port));
  for (const { name: portName, port } of ports)
    if (portName) links.set(`${prefix}_SERVICE_PORT_${variableName(portName)}`, String(port));
  links.set(`${prefix}_PORT`, urlOf(address, first));
  for (const each of ports) {
    const { port, protocol = 'TCP' } = each;
    const link = `${prefix}_PORT_${port}_${protocol.toUpperCase()}`;
    links.set(link, urlOf(address, each));
    links.set(`${link}_PROTO`, protocol.toLowerCase());
    links.set(`${link}_PORT`, String(port));
    links.set(`${link}_ADDR`, address);
  }
}

const variableName = (name: string): string => name.replaceAll('-', '_').toUpperCase();

const urlOf = (address: string, { protocol = 'TCP', port }: ServicePort): string =>
  `${protocol.toLowerCase()}://${address}:${port}`;
