import { badRequest } from '../../api/errors/index.ts';
import type { Service, ServicePort } from '../../api/generated/types.ts';

/**
 * The ports of a command line about a service as ports of its pods: of "8080:80" and "8080:http" the part behind the
 * colon names a port of the service, which leads to another one of the pods. Throws INVALID_ARGUMENT.
 */
export function toPodPorts(text: string, service: Service): string {
  const [first = '', second, ...more] = text.split(':');
  // What is no port is refused where those of pods are.
  if (more.length > 0 || first + (second ?? '') === '' || second === '') return text;
  const wanted = second ?? first;
  const ports = service.spec?.ports ?? [];
  const found = ports.filter((each) => String(each.port) === wanted || each.name === wanted);
  // One number may be a port of TCP and one of UDP.
  const port = found.find(({ protocol = 'TCP' }) => protocol === 'TCP');
  if (found[0] && !port) throw notCarried(wanted, service, found[0]);
  if (!port) throw unknownPort(wanted, service, ports);
  // A service without an address has no ports of its own: its names lead to the pods themselves.
  const target = service.spec?.clusterIP === 'None' ? String(port.port) : targetOf(port);
  return `${second === undefined ? port.port : first}:${target}`;
}

function targetOf({ port, targetPort }: ServicePort): string {
  return (targetPort?.type === 1 ? targetPort.strVal : undefined) || String(targetPort?.intVal || port);
}

function notCarried(wanted: string, { metadata }: Service, { protocol }: ServicePort): Error {
  return badRequest(`port ${wanted} of service "${metadata?.name}" is ${protocol}; only TCP can be forwarded`);
}

function unknownPort(wanted: string, { metadata }: Service, ports: readonly ServicePort[]): Error {
  const known = ports.map(({ port, name }) => (name ? `${port} (${name})` : String(port))).join(', ');
  return badRequest(`service "${metadata?.name}" does not have a service port ${wanted}; it has ${known || 'none'}`);
}
