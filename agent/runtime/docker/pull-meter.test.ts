import { describe, expect, it } from 'vitest';
import { createPullMeter, type PullStep } from './pull-meter.ts';

const line = (id: string, status: string, current?: number, total?: number): PullStep => ({
  id,
  status,
  progressDetail: current === undefined ? {} : { current, ...(total === undefined ? {} : { total }) },
});

describe('the progress of a pull', () => {
  it('is nothing but a question until the registry has named the layers', () => {
    const asking = { phase: 'asking', layersDone: 0, layers: 0, bytesDone: 0, bytes: 0 };
    expect(createPullMeter().add({ status: 'Pulling from team/app', id: 'latest' })).toEqual(asking);
  });

  it('counts layers and bytes, a layer that was here as done and of no size', () => {
    const meter = createPullMeter();
    meter.add(line('a', 'Already exists'));
    meter.add(line('b', 'Pulling fs layer'));
    expect(meter.add(line('c', 'Pulling fs layer'))).toMatchObject({ phase: 'asking', layersDone: 1, layers: 3 });
    meter.add(line('b', 'Downloading', 10, 100));
    expect(meter.add(line('c', 'Downloading', 50, 60))).toMatchObject({ phase: 'downloading', bytesDone: 60, bytes: 160 });
    meter.add(line('c', 'Download complete'));
    expect(meter.add(line('c', 'Extracting', 3, 60))).toMatchObject({ phase: 'downloading', bytesDone: 70, layersDone: 1 });
    meter.add(line('b', 'Verifying Checksum'));
    expect(meter.add(line('b', 'Extracting', 1, 100))).toMatchObject({ phase: 'unpacking', bytesDone: 160 });
    meter.add(line('b', 'Pull complete'));
    expect(meter.add(line('c', 'Pull complete'))).toMatchObject({ layersDone: 3, layers: 3, bytesDone: 160, bytes: 160 });
  });

  it('waits for the engine, not for the registry, while every layer that is left waits for a place', () => {
    const meter = createPullMeter();
    meter.add(line('a', 'Waiting'));
    expect(meter.add(line('b', 'Waiting'))).toMatchObject({ phase: 'queued' });
    expect(meter.add(line('b', 'Downloading', 1, 2))).toMatchObject({ phase: 'downloading' });
    expect(meter.add(line('b', 'Download complete'))).toMatchObject({ phase: 'queued' });
  });

  it('does not move when the engine tries again', () => {
    const meter = createPullMeter();
    const before = meter.add(line('a', 'Downloading', 5, 9));
    expect(meter.add(line('a', 'Retrying in 4 seconds'))).toEqual(before);
  });

  it('is of a layer of unknown size what came so far', () => {
    const meter = createPullMeter();
    expect(meter.add(line('a', 'Downloading', 7))).toMatchObject({ bytesDone: 7, bytes: 7 });
  });
});
