import type { Pod } from '../../generated/types.ts';

/** A port of a pod's containers that has a name. */
export interface NamedPort {
  readonly name: string;
  /** "TCP", "UDP" or "SCTP". */
  readonly protocol: string;
  readonly containerPort: number;
}

/** Of the containers that run as long as the pod does. */
export function namedPortsOf({ spec = {} }: Pod): NamedPort[] {
  const { containers = [], initContainers = [] } = spec;
  const sidecars = initContainers.filter(({ restartPolicy }) => restartPolicy === 'Always');
  return [...containers, ...sidecars].flatMap(({ ports = [] }) =>
    ports.flatMap(({ name = '', protocol = 'TCP', containerPort = 0 }) =>
      name === '' ? [] : [{ name, protocol, containerPort }],
    ),
  );
}
