import { once } from 'node:events';
import { createServer } from 'node:https';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { expect, it } from 'vitest';
import { decodeMessage, encodeMessage } from '../../api/codec/message.ts';
import type { Open, ServeResponse } from '../../api/generated/types.ts';
import { WebhookClient } from '../admission/webhooks/webhook-client.ts';
import { createAuthority, issueCertificate } from '../pki/certificates.ts';
import { connectPod } from './pod-connection.ts';
import type { ServedStream, Tunnels } from './tunnels.ts';

/** An agent that forwards each stream to a port of this machine. */
function createAgent(port: number) {
  const opened: Omit<Open, 'streamId'>[] = [];
  const open = async (_node: string, request: Omit<Open, 'streamId'>): Promise<ServedStream> => {
    opened.push(request);
    const socket = connect(port, '127.0.0.1');
    return {
      frames: framesOf(socket),
      async send(frame) {
        const { portForward } = decodeMessage<ServeResponse>('berth.node.v1.ServeResponse', frame);
        if (portForward?.data) socket.write(portForward.data);
        if (portForward?.dataEnd) socket.end();
      },
      close: () => void socket.destroy(),
    };
  };
  return { opened, tunnels: { open } as unknown as Tunnels };
}

async function* framesOf(socket: Socket): AsyncGenerator<Buffer> {
  const frame = (portForward: object): Buffer => encodeMessage('berth.node.v1.ServeRequest', { portForward });
  for await (const data of socket as AsyncIterable<Buffer>) yield frame({ data });
  yield frame({ dataEnd: {} });
}

const flow = { level: 'control', key: 'x', name: 'x', isExempt: true } as const;

it('carries HTTPS to a port of a pod: calls share a connection, and a large answer arrives whole', async () => {
  const now = new Date();
  const authority = await createAuthority('authority', now);
  const { certificate, key } = await issueCertificate(
    authority,
    { commonName: 'hook', organizations: [] },
    ['hook.default.svc'],
    now,
  );
  const server = createServer({ cert: certificate, key }, (_, response) => response.end('y'.repeat(500_000)));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { opened, tunnels } = createAgent((server.address() as AddressInfo).port);
  const pod = { node: 'n1', namespace: 'default', name: 'hook-1', uid: 'u', port: 8443 };
  const client = new WebhookClient({
    url: 'https://hook.default.svc:443/validate',
    ca: Buffer.from(authority.certificate),
    dial: (signal) => connectPod(tunnels, pod, { flow, signal }),
  });
  try {
    expect(await client.call(() => 'x'.repeat(200_000), 5_000)).toHaveLength(500_000);
    expect(await client.call(() => 'x', 5_000)).toHaveLength(500_000);
    const portForward = { namespace: 'default', name: 'hook-1', options: { ports: [8443] } };
    expect(opened).toEqual([{ portForward, podUid: 'u' }]);
  } finally {
    client.close();
    server.closeAllConnections();
    server.close();
  }
});
