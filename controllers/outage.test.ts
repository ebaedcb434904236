import { describe, expect, it } from 'vitest';
import { createFakeClock } from '../test/fakes/fake-clock.ts';
import { createOutage } from './outage.ts';

function setup() {
  const clock = createFakeClock();
  const outage = createOutage(clock);
  let told = 0;
  outage.listen(() => void told++);
  return { clock, outage, told: () => told };
}

describe('an outage', () => {
  it('is told when it begins and when it ends, not for each of the thousands of calls that fail meanwhile', async () => {
    const { clock, outage, told } = setup();
    for (let node = 0; node < 5_000; node++) outage.began();
    expect(told()).toBe(1);
    await clock.advance(60_000);
    outage.began();
    expect(told()).toBe(1);
    expect([outage.ended(), outage.ended(), told()]).toEqual([true, false, 2]);
  });

  it('is told once a second where every other call fails, and once more when that is over', async () => {
    const { clock, outage, told } = setup();
    for (let node = 0; node < 5_000; node++) {
      outage.began();
      outage.ended();
    }
    expect(told()).toBe(1);
    await clock.advance(1_000);
    expect(told()).toBe(2);
    await clock.advance(60_000);
    expect(told()).toBe(2);
  });
});
