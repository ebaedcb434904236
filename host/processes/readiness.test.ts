import { describe, expect, it } from 'vitest';
import { timestamp } from '../../api/meta/time.ts';
import { annotations } from '../../api/meta/well-known.ts';
import type { Node } from '../../client/index.ts';
import { decideNodeReady, describeForeignHolder } from './readiness.ts';

const at = Date.UTC(2027, 0, 1);
const node = (status: string, heartbeatMs: number, message = ''): Node => ({
  status: {
    nodeInfo: { kubeletVersion: 'v1.0.0' },
    conditions: [{ type: 'Ready', status, message, lastHeartbeatTime: timestamp(new Date(heartbeatMs)) }],
  },
});

describe('a node that is waited for', () => {
  it('is ready when the agent that was started says so, to the second', () => {
    expect(decideNodeReady(node('True', at), { version: 'v1.0.0', sinceMs: at + 900 })).toBeUndefined();
    expect(decideNodeReady(node('True', at - 1_000), { version: 'v1.0.0', sinceMs: at })).toContain('not reported');
    expect(decideNodeReady(node('True', at), { version: 'v1.1.0', sinceMs: at })).toContain('not reported');
  });

  it('says why it is not ready', () => {
    expect(decideNodeReady(node('False', at, 'the engine is away'), { version: 'v1.0.0', sinceMs: at })).toBe(
      'the engine is away',
    );
    expect(decideNodeReady(node('True', 0), undefined)).toBeUndefined();
    expect(decideNodeReady({}, undefined)).toBe('the node is not ready');
  });

  it('names the other machine or data directory that had its name', () => {
    const lease = { metadata: { annotations: { [annotations.holderHost]: 'web-1', [annotations.holderDataDir]: '/d' } } };
    expect(describeForeignHolder(lease, 'web-2', '/d')).toContain('machine web-1 (data directory /d) ran it last');
    expect(describeForeignHolder(lease, 'web-1', '/e')).toContain('40 s');
    expect(describeForeignHolder(lease, 'web-1', '/d')).toBe('');
    expect(describeForeignHolder({}, 'web-1', '/d')).toBe('');
  });
});
