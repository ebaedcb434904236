import type { Logger } from 'pino';
import { decodeMessage, encodeMessage } from '../../api/codec/message.ts';
import { badRequest, failedPrecondition, unavailable } from '../../api/errors/index.ts';
import type { GetLogLevelRequest, LogLevel, ServeRequest, SetLogLevelRequest } from '../../api/generated/types.ts';
import { changeLogLevel, isLogLevel, type LogLevelControl, logLevels } from '../../api/meta/log-level.ts';
import { decodeStrictly } from '../registry/decode.ts';
import { abortable } from '../tunnel/abortable.ts';
import { fromStatus } from '../tunnel/node-error.ts';
import type { Tunnels } from '../tunnel/tunnels.ts';
import type { CallContext } from '../verbs/call-context.ts';
import type { PreparedCall } from '../verbs/prepared-call.ts';
import type { CallPipeline } from './call-pipeline.ts';
import { serviceDefinition } from './definitions.ts';

export const LOG_LEVELS_SERVICE = 'berth.ops.v1.LogLevels';

export interface LogLevelsDeps {
  readonly tunnels: Tunnels;
  readonly log: Logger;
  /** This process' own level; absent where it is fixed. */
  readonly own: LogLevelControl | undefined;
}

/** Levels of this server's log and, through their agents, of the nodes'. */
export function logLevelsService(deps: LogLevelsDeps, pipeline: CallPipeline) {
  return {
    definition: serviceDefinition(LOG_LEVELS_SERVICE),
    implementation: {
      Get: pipeline.unary((request, call) => {
        const { nodeName = '' } = decodeStrictly<GetLogLevelRequest>('berth.ops.v1.GetLogLevelRequest', request, 'request');
        return prepareLevel(deps, { nodeName, level: '' }, call);
      }),
      Set: pipeline.unary((request, call) => {
        const { nodeName = '', level = '' } = decodeStrictly<SetLogLevelRequest>(
          'berth.ops.v1.SetLogLevelRequest',
          request,
          'request',
        );
        if (!isLogLevel(level)) throw badRequest(`"${level}" is no log level: use ${logLevels.join(', ')}`);
        return prepareLevel(deps, { nodeName, level }, call);
      }),
    },
  };
}

interface Wish {
  readonly nodeName: string;
  /** Empty: it is only asked for. */
  readonly level: string;
}

function prepareLevel(deps: LogLevelsDeps, wish: Wish, call: CallContext): PreparedCall {
  const verb = wish.level === '' ? 'get' : 'update';
  call.authorize({ verb, kind: 'LogLevel', namespace: '', name: wish.nodeName });
  return {
    run: async () => {
      const level = wish.nodeName === '' ? own(deps, wish, call) : await ofNode(deps, wish, call);
      return { bytes: encodeMessage('berth.ops.v1.LogLevel', { level }) };
    },
  };
}

function own({ own, log }: LogLevelsDeps, { level }: Wish, { identity: { user }, requestId }: CallContext): string {
  if (!own) throw failedPrecondition('LogLevelFixed', 'this server was started with a log whose level cannot be changed');
  const before = own.get();
  if (!isLogLevel(level) || level === before) return before;
  changeLogLevel(own, level, () => log.warn({ requestId, user, before, level }, 'the log level was changed'));
  return level;
}

async function ofNode({ tunnels }: LogLevelsDeps, { nodeName, level }: Wish, call: CallContext): Promise<string> {
  const stream = await tunnels.open(nodeName, { logLevel: { level }, requestId: call.requestId }, call);
  try {
    const frame = await abortable(stream.frames.next(), call.signal);
    if (frame.done) throw unavailable('the connection to the node was lost: try again');
    const { error, logLevel } = decodeMessage<ServeRequest & { logLevel?: LogLevel }>('berth.node.v1.ServeRequest', frame.value);
    if (error) throw fromStatus(error);
    return logLevel?.level ?? '';
  } finally {
    stream.close();
  }
}
