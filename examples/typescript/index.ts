// A Pulumi program of one's own in TypeScript: the numbers come from anywhere, and the compiler knows the components.
import * as k8s from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";
import * as tenancy from "@pulumi/tenancy";

const headcount = { training: 12, research: 6, inference: 6 }; // say, from HR: 4 nodes for 24 people
const people = Object.values(headcount).reduce((sum, one) => sum + one);
const teams = Object.fromEntries(
    Object.entries(headcount).map(([team, one]) => [team, { guaranteed: Math.floor((32 * one) / people) }]),
);

const cluster = new k8s.Provider("cluster", {
    enableServerSideApply: true,
    clusterIdentifier: `${pulumi.getProject()}/${pulumi.getStack()}`,
});
const gpus = new tenancy.TenancyAgreement(
    "gpus",
    { agreement: { tables: { cluster: { name: "lab" }, flavors: { gpu: { nodes: 4, gpus_per_node: 8 } }, teams } } },
    { provider: cluster },
);
export const queues = gpus.queues;
