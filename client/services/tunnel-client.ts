import type { ControlRequest, ControlResponse, ServeRequest, ServeResponse } from '../../api/generated/types.ts';
import type { TunnelClient, TunnelControl, TunnelStream } from '../client.ts';
import type { Connection, Method } from '../connection/connection.ts';
import { toStatus } from '../connection/status-details.ts';
import type { CallOptions } from './resource-client.ts';

const methods = {
  control: {
    path: '/berth.node.v1.Tunnel/Control',
    request: 'berth.node.v1.ControlRequest',
    response: 'berth.node.v1.ControlResponse',
  },
  serve: { path: '/berth.node.v1.Tunnel/Serve', request: 'berth.node.v1.ServeRequest', response: 'berth.node.v1.ServeResponse' },
} satisfies Record<string, Method>;

/** The agent's side of the tunnel. */
export function createTunnelClient(connection: Connection): TunnelClient {
  return {
    control: (nodeName, signal) => openControl(connection, nodeName, signal),
    serve: (streamId, signal, requestId) => openStream(connection, streamId, { signal, requestId }),
  };
}

function openControl(connection: Connection, nodeName: string, signal: AbortSignal): TunnelControl {
  const duplex = connection.duplex<ControlRequest, ControlResponse>(methods.control, { signal });
  // A failure of the first write is the call's, and `requests` throws it.
  duplex.write({ hello: { nodeName } }).catch(() => {});
  return {
    async *requests() {
      try {
        for await (const { open } of duplex.messages()) if (open) yield open;
      } finally {
        duplex.cancel();
      }
    },
    refuse: (streamId, error) => duplex.write({ refuse: { streamId, status: toStatus(error) } }),
  };
}

function openStream(connection: Connection, streamId: string, call: CallOptions): TunnelStream {
  const duplex = connection.duplex<ServeRequest, ServeResponse>(methods.serve, call);
  duplex.write({ streamId }).catch(() => {});
  return {
    closed: duplex.closed,
    async *input(kind) {
      for await (const message of duplex.messages()) {
        const frame = message[kind];
        if (frame) yield frame;
      }
    },
    write: (frame) => duplex.write(frame),
    async fail(error) {
      await duplex.write({ error: toStatus(error) });
      duplex.end();
    },
    end() {
      duplex.write({ end: {} }).catch(() => {});
      duplex.end();
    },
  };
}
