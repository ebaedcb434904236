/** The network of a cluster whose operator says nothing: the addresses of pods and of Services, and its domain. */
export const defaultNetwork = {
  clusterCidr: '10.42.0.0/16',
  serviceCidr: '10.43.0.0/16',
  clusterDomain: 'cluster.local',
} as const;

/** Of the addresses of Services, from the network's own on: those of both doors of the API, and the one for names. */
export const controlPlaneOffset = 1;
export const kubernetesOffset = 2;
export const namesOffset = 10;
