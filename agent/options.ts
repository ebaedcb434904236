import type { Taint } from '../api/generated/types.ts';
import type { LogLevelControl } from '../api/meta/log-level.ts';
import type { MetricsRegistry } from '../api/metrics/index.ts';
import type { Client } from '../client/client.ts';
import type { Clock } from '../client/clock.ts';
import type { Logger } from '../client/logger.ts';
import type { HeldCertificate } from './identity/held-certificate.ts';
import type { ImageOptions } from './images/options.ts';
import type { AgentPorts } from './ports.ts';

export interface NodeRegistration {
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
}

export interface AgentOptions {
  readonly client: Client;
  /** The address that the client uses, "host:port": pods are led there as well. Absent: they are not. */
  readonly server?: string | undefined;
  readonly nodeName: string;
  /** Berth's data directory; the agent's own is <dataDir>/node/<nodeName>. */
  readonly dataDir: string;
  readonly sandboxImage?: string | undefined;
  /**
   * How many processes and threads each container may have, 0 for no limit;
   * 4,096 or what the machine allows where not said.
   */
  readonly maxContainerPids?: number | undefined;
  /** Where new pods get their addresses: from the engine's own network (default) or from the node's range. */
  readonly podNetwork?: 'engine' | 'routed' | undefined;
  /** Which way packets take to pods of other nodes in the routed network; "auto" where not said. */
  readonly podRoutes?: 'auto' | 'direct' | 'vxlan' | undefined;
  readonly dockerSocket?: string | undefined;
  /** The longest that a container which ends again and again waits for its next run; 5 minutes where not said. */
  readonly maxContainerRestartMs?: number | undefined;
  /** The folder, or the file, of this machine's static pods, in place of what node.yaml says. */
  readonly staticPodPath?: string | undefined;
  /** Labels and taints of a new Node; an existing one keeps its own. */
  readonly registration?: NodeRegistration | undefined;
  readonly imageOptions?: ImageOptions | undefined;
  /** The certificate that the client uses, which the agent renews; absent: another process renews it. */
  readonly held?: HeldCertificate | undefined;
  /** The authorities (PEM) that the client trusts, where it uses no such certificate. */
  readonly authorities?: string | undefined;
  readonly logger: Logger;
  /** Changes how much `logger` writes. */
  readonly logLevel?: LogLevelControl | undefined;
  readonly metrics?: MetricsRegistry;
  /** Called once no other agent can run this node from this data directory. */
  readonly locked?: () => void;
  /** Instead of this program's. */
  readonly version?: string;
  /** Instead of this machine. */
  readonly ports?: AgentPorts;
  readonly clock?: Clock;
}
