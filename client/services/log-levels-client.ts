import type { LogLevel } from '../../api/generated/types.ts';
import type { LogLevelName } from '../../api/meta/log-level.ts';
import type { Connection, Method } from '../connection/connection.ts';
import type { CallOptions } from './resource-client.ts';

/** The log levels of Berth's processes. For administrators only. */
export interface LogLevelsClient {
  /** Of the agent of a node, or with `undefined` of the server itself. */
  get(nodeName: string | undefined, call?: CallOptions): Promise<LogLevelName>;
  /** Takes effect at once, until that process restarts. */
  set(nodeName: string | undefined, level: LogLevelName, call?: CallOptions): Promise<LogLevelName>;
}

const method = (name: 'Get' | 'Set'): Method => ({
  path: `/berth.ops.v1.LogLevels/${name}`,
  request: `berth.ops.v1.${name}LogLevelRequest`,
  response: 'berth.ops.v1.LogLevel',
});

export function createLogLevelsClient(connection: Connection): LogLevelsClient {
  const ask = async (name: 'Get' | 'Set', request: object, call?: CallOptions): Promise<LogLevelName> => {
    const { level } = await connection.unary<LogLevel>(method(name), request, call);
    return level as LogLevelName;
  };
  return {
    get: (nodeName, call) => ask('Get', { nodeName }, call),
    set: (nodeName, level, call) => ask('Set', { nodeName, level }, call),
  };
}
