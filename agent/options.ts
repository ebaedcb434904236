import type { LogLevelControl } from '../api/meta/log-level.ts';
import type { MetricsRegistry } from '../api/metrics/index.ts';
import type { Client } from '../client/client.ts';
import type { Clock } from '../client/clock.ts';
import type { Logger } from '../client/logger.ts';
import type { AgentPorts } from './ports.ts';

export interface AgentOptions {
  readonly client: Client;
  readonly nodeName: string;
  /** Berth's data directory; the agent's own is <dataDir>/node/<nodeName>. */
  readonly dataDir: string;
  readonly sandboxImage?: string | undefined;
  readonly dockerSocket?: string | undefined;
  readonly logger: Logger;
  /** Changes how much `logger` writes. */
  readonly logLevel?: LogLevelControl | undefined;
  readonly metrics?: MetricsRegistry;
  /** Called once no other agent can run this node from this data directory. */
  readonly locked?: () => void;
  /** Instead of this machine. */
  readonly ports?: AgentPorts;
  readonly clock?: Clock;
}
