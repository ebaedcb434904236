import type { WebSocket } from 'ws';
import { badRequest } from '../../../api/errors/index.ts';
import { portForward } from '../../tunnel/carriages.ts';
import { admitStream, authorizeStream, type StreamDeps } from '../../tunnel/carry.ts';
import { connectPod } from '../../tunnel/pod-connection.ts';
import { findTarget } from '../../tunnel/stream-target.ts';
import type { ResourceRequest } from '../resource-routes.ts';
import { rejectUnassigned } from './choose-container.ts';
import { forwardChannels } from './port-forward-channels.ts';
import { forwardSpdy } from './port-forward-spdy.ts';
import { portOf } from './port-forwarding.ts';
import { chooseProtocol, openSpdy, tunnelSpdy } from './spdy/spdy-upgrade.ts';
import type { StreamRoute, StreamWay } from './stream-route.ts';
import { requireUpgrade } from './upgrade.ts';
import { WebSocketDoor } from './web-socket.ts';

const PROTOCOL = 'portforward.k8s.io';
/** SPDY in the messages of a WebSocket. */
const TUNNEL = `SPDY/3.1+${PROTOCOL}`;
const door = new WebSocketDoor([TUNNEL, 'v4.channel.k8s.io', 'v4.base64.channel.k8s.io']);
/** Of one request over channels, of which there are two for each. */
const mostPorts = 64;

type Target = { readonly namespace: string; readonly name: string };

/** .../pods/NAME/portforward: any number of connections to ports of a pod over one connection. */
export function portForwardRoute({ target, query, store }: ResourceRequest, deps: StreamDeps): StreamRoute {
  const { namespace, name } = target;
  return {
    of: 'stream',
    method: `/${store.kind.service}/${portForward.method}`,
    prepare(context) {
      const { verb, open, output } = portForward;
      // Ports come later, each with a connection.
      authorizeStream({ verb, open, output }, { namespace, name }, context);
      return { run: (way) => forwardPorts(deps, { namespace, name }, query, way) };
    },
  };
}

async function forwardPorts(
  { pods, tunnels }: StreamDeps,
  { namespace, name }: Target,
  query: URLSearchParams,
  { upgrade: asked, context }: StreamWay,
): Promise<void> {
  const upgrade = requireUpgrade(asked);
  const protocol = upgrade.isSpdy ? chooseProtocol(upgrade, [PROTOCOL]) : door.protocolOf(upgrade);
  const ports = upgrade.isSpdy || protocol === TUNNEL ? [] : portsOf(query);
  const start = { namespace, name, options: { ports } };
  await admitStream(pods, portForward, start, context);
  const { node, uid } = await findTarget(pods, { namespace, name }).catch(rejectUnassigned);
  const forwarding = {
    describe: (port: number, error: string) => `error forwarding port ${port} to pod ${name}, uid ${uid}: ${error}`,
    connect: (port: number) => connectPod(tunnels, { node, namespace, name, uid, port }, context),
    signal: context.signal,
  };
  // Each of its forwarded connections has another: one that forwards nothing may hold as much memory.
  const leave = tunnels.hold(context.flow);
  try {
    if (upgrade.isSpdy) return await forwardSpdy(forwarding, (options) => openSpdy(upgrade, protocol, options));
    const ws: WebSocket = await door.open(upgrade, protocol);
    if (protocol === TUNNEL) await forwardSpdy(forwarding, (options) => tunnelSpdy(ws, options));
    else await forwardChannels(forwarding, { ws, isBase64: protocol.includes('base64'), ports });
  } finally {
    leave();
  }
}

/** Each "ports" of the query is one or several, with commas. Throws BAD_REQUEST. */
function portsOf(query: URLSearchParams): number[] {
  const texts = query.getAll('ports').flatMap((each) => each.split(','));
  if (texts.length === 0) throw badRequest('query parameter "ports" is required');
  if (texts.length > mostPorts) throw badRequest(`at most ${mostPorts} ports may be forwarded over one WebSocket`);
  return texts.map((text) => {
    const port = portOf(text);
    if (port === undefined) throw badRequest(`unable to parse "${text.slice(0, 64)}" as a port`);
    return port;
  });
}
