import { WireReader } from '../../../api/codec/wire-reader.ts';
import { badRequest } from '../../../api/errors/index.ts';
import { joinStream } from '../../tunnel/carry.ts';
import type { Tunnels } from '../../tunnel/tunnels.ts';
import { sendBytes } from '../streams/send-bytes.ts';
import type { StreamWay } from '../streams/stream-route.ts';

/** ServeRequest.nodeLog, and the fields of NodeLog. */
const NODE_LOG = 14;
const IS_FOLDER = 1;
const DATA = 2;
const NAME = 3;

/**
 * /logs/...: a file of the node's /var/log, or links to what a folder there holds, as a kubelet shows them. The path of
 * a folder ends with a slash and that of a file does not: other paths are redirected, so that relative links work.
 */
export async function sendNodeLog(tunnels: Tunnels, node: string, path: string, way: StreamWay): Promise<void> {
  const { request, response, context } = way;
  if (path === '/logs') {
    response.writeHead(301, { location: 'logs/' });
    response.end();
    return;
  }
  const isHead = request.method === 'HEAD';
  const wanted = path.slice('/logs/'.length).split('/').map(decodePart).join('/');
  const open = { nodeLog: { path: wanted, isHead }, requestId: context.requestId };
  const stream = await tunnels.open(node, open, context);
  let isFolder = false;
  let isMoved = false;
  const send = async (frame: Buffer): Promise<void> => {
    const piece = readPiece(frame);
    if (!response.headersSent) {
      isFolder = piece.isFolder;
      isMoved = isFolder !== path.endsWith('/');
      begin(way, isMoved ? locationOf(path, isFolder) : undefined, piece);
      if (isFolder && !isMoved && !isHead) response.write('<pre>\n');
    }
    if (isMoved || isHead) return;
    const bytes = isFolder ? Buffer.from(piece.names.map(linkTo).join('')) : piece.data;
    if (bytes.length > 0) await sendBytes(response, bytes, context.signal);
  };
  await joinStream(stream, { output: NODE_LOG }, { send }, context.signal);
  response.end(isFolder && !isMoved && !isHead ? '</pre>\n' : undefined);
}

function decodePart(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw badRequest(`"${part.slice(0, 200)}" in the path is not percent-encoded`);
  }
}

interface Piece {
  isFolder: boolean;
  data: Uint8Array;
  readonly names: string[];
}

function readPiece(frame: Buffer): Piece {
  const piece: Piece = { isFolder: false, data: Buffer.alloc(0), names: [] };
  const reader = new WireReader(frame);
  while (reader.next()) {
    if (reader.number === IS_FOLDER) piece.isFolder = reader.number32() !== 0;
    else if (reader.number === DATA) piece.data = reader.value();
    else if (reader.number === NAME) piece.names.push(Buffer.from(reader.value()).toString());
  }
  return piece;
}

const locationOf = (path: string, isFolder: boolean): string => {
  const name = path.split('/').findLast((part) => part !== '')!;
  return isFolder ? `${name}/` : `../${name}`;
};

const types = {
  folder: 'text/html; charset=utf-8',
  text: 'text/plain; charset=utf-8',
  bytes: 'application/octet-stream',
};
/** A browser must not run what a log contains. */
const safe = { 'cache-control': 'no-cache, private', 'x-content-type-options': 'nosniff' };

function begin({ response }: StreamWay, location: string | undefined, { isFolder, data }: Piece): void {
  if (location !== undefined) response.writeHead(301, { location });
  else
    response.writeHead(200, { ...safe, 'content-type': isFolder ? types.folder : data.includes(0) ? types.bytes : types.text });
}

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&#34;', "'": '&#39;' };
const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (sign) => entities[sign]!);

/** "./", so that a name with a colon is no other scheme. */
function linkTo(name: string): string {
  const target = name.split('/').map(encodeURIComponent).join('/');
  return `<a href="./${escapeHtml(target)}">${escapeHtml(name)}</a>\n`;
}
