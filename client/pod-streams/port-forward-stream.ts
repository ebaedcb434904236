import type { PodPortForwardRequest, PodPortForwardResponse, PodPortForwardStart } from '../../api/generated/types.ts';
import type { Duplex } from '../connection/duplex.ts';
import type { PortForwardStream } from './pod-streams.ts';
import { asBuffer } from './terminal-stream.ts';

export function createPortForwardStream(
  duplex: Duplex<PodPortForwardRequest, PodPortForwardResponse>,
  start: PodPortForwardStart,
): PortForwardStream {
  const started = duplex.write({ start });
  started.catch(() => {});
  return {
    async write(data) {
      await started;
      await duplex.write({ data: asBuffer(data) });
    },
    end: () => void duplex.write({ dataEnd: {} }).catch(() => {}),
    async *output() {
      for await (const { data, dataEnd } of duplex.messages()) {
        if (data && data.length > 0) yield data;
        // What comes after it is the end of the call: `closed` tells.
        if (dataEnd) return;
      }
    },
    closed: duplex.closed,
    close: () => duplex.cancel(),
  };
}
