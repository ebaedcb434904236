import { createFigures, figure } from './cgroups/figures.ts';
import type { MachineFigures } from './machine-usage.ts';

/**
 * The machine's figures in the places of a container's. What the root cgroup tells comes first; of version 2 it has no
 * memory figures of its own, and then /proc has them. Pure.
 */
export function wholeMachine(machine: MachineFigures, cgroup: Float64Array | undefined): Float64Array {
  const values = cgroup?.slice() ?? createFigures().values;
  const { memory, pressure } = machine;
  const fill = (at: number, value: number | undefined): void => {
    if (Number.isNaN(values[at]!) && value !== undefined) values[at] = value;
  };
  fill(figure.cpuSeconds, machine.cpuBusySeconds);
  if (memory !== undefined && Number.isNaN(values[figure.memoryUsage]!)) {
    values[figure.memoryUsage] = memory.total - memory.available;
    // Not available is without file pages already.
    values[figure.memoryInactiveFile] = 0;
  }
  fill(figure.memorySwap, memory && memory.swapTotal - memory.swapFree);
  values[figure.cpuWaitingSeconds] = pressure.cpu.waitingSeconds;
  values[figure.cpuStalledSeconds] = pressure.cpu.stalledSeconds;
  values[figure.memoryWaitingSeconds] = pressure.memory.waitingSeconds;
  values[figure.memoryStalledSeconds] = pressure.memory.stalledSeconds;
  values[figure.ioWaitingSeconds] = pressure.io.waitingSeconds;
  values[figure.ioStalledSeconds] = pressure.io.stalledSeconds;
  return values;
}
