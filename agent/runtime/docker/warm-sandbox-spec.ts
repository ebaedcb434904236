import type { SandboxConfig } from '../runtime.ts';
import { type CreateSpec, noHealthcheck, type RoutedSandboxConfig, type SpecFacts } from './container-spec.ts';
import { label, labelsOf } from './labels.ts';
import type { WarmNetwork } from './warm-networks.ts';

/** A sandbox that may enter a network which was made before it. */
export interface EnteringSandboxConfig extends RoutedSandboxConfig {
  readonly network?: WarmNetwork | undefined;
}

/** Where the sandbox's program (pause/program.amd64.s) looks for the network that it is to enter. */
const networkMount = '/network';

/**
 * What the engine is sent to create a sandbox that enters a warm network. The engine gives it none; for the moment of
 * entering it has the one right that this takes, which its program gives up at once.
 */
export function warmSandboxSpec({ nodeName, oomScoreAdj }: SpecFacts, config: SandboxConfig, network: WarmNetwork): CreateSpec {
  return {
    Image: config.image,
    Labels: { ...labelsOf(nodeName, config.identity), [label.network]: network.id, [label.ip]: network.ip },
    Healthcheck: noHealthcheck,
    Hostname: config.hostname,
    NetworkDisabled: true,
    HostConfig: {
      IpcMode: 'shareable',
      CapDrop: ['ALL'],
      CapAdd: ['SYS_ADMIN'],
      Mounts: [{ Type: 'bind', Source: network.path, Target: networkMount, ReadOnly: true }],
      LogConfig: { Type: 'none' },
      RestartPolicy: { Name: 'no' },
      ...(oomScoreAdj === 0 ? {} : { OomScoreAdj: oomScoreAdj }),
    },
  };
}
