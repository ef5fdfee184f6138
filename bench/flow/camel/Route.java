import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import org.apache.activemq.artemis.core.config.Configuration;
import org.apache.activemq.artemis.core.config.impl.ConfigurationImpl;
import org.apache.activemq.artemis.core.server.JournalType;
import org.apache.activemq.artemis.core.server.embedded.EmbeddedActiveMQ;
import org.apache.activemq.artemis.jms.client.ActiveMQConnectionFactory;
import org.apache.camel.ExchangePattern;
import org.apache.camel.builder.RouteBuilder;
import org.apache.camel.component.jms.JmsComponent;
import org.apache.camel.main.Main;
import org.springframework.jms.connection.CachingConnectionFactory;

/**
 * The peer: HTTP to a row, at once or by way of a durable queue.
 *
 * <p>Words: port of HTTP, JDBC address, folder of the journal. POST /sync inserts a row before it
 * answers; POST /async answers once the message is in the journal, from which 16 transacted
 * consumers take it.
 */
public final class Route extends RouteBuilder {
    private static final int CONNECTIONS = 16;
    private final int port;

    private Route(int port) {
        this.port = port;
    }

    public static void main(String[] words) throws Exception {
        EmbeddedActiveMQ broker = new EmbeddedActiveMQ();
        broker.setConfiguration(journal(words[2]));
        broker.start();
        CachingConnectionFactory connections =
                new CachingConnectionFactory(new ActiveMQConnectionFactory("vm://0"));
        connections.setSessionCacheSize(2 * CONNECTIONS);
        Main main = new Main();
        main.bind("rows", rows(words[1]));
        main.bind("jms", JmsComponent.jmsComponent(connections));
        main.configure().addRoutesBuilder(new Route(Integer.parseInt(words[0])));
        try {
            main.run();
        } catch (Exception failure) {
            failure.printStackTrace();
        }
        // the broker's threads would go on without a route
        Runtime.getRuntime().halt(1);
    }

    private static Configuration journal(String folder) throws Exception {
        ConfigurationImpl configuration = new ConfigurationImpl();
        configuration.setPersistenceEnabled(true);
        configuration.setJournalType(JournalType.NIO);
        configuration.setJournalDatasync(true);
        configuration.setJournalDirectory(folder + "/journal");
        configuration.setBindingsDirectory(folder + "/bindings");
        configuration.setLargeMessagesDirectory(folder + "/large");
        configuration.setPagingDirectory(folder + "/paging");
        configuration.setSecurityEnabled(false);
        configuration.addAcceptorConfiguration("vm", "vm://0");
        return configuration;
    }

    private static HikariDataSource rows(String address) {
        HikariConfig configuration = new HikariConfig();
        configuration.setJdbcUrl(address);
        configuration.setMaximumPoolSize(CONNECTIONS);
        return new HikariDataSource(configuration);
    }

    @Override
    public void configure() {
        String http = "netty-http:http://127.0.0.1:" + port;
        from(http + "/sync").convertBodyTo(String.class).to("direct:row")
                .removeHeaders("*").setBody(constant("done"));
        from(http + "/async")
                .convertBodyTo(String.class)
                .removeHeaders("*")
                .to(ExchangePattern.InOnly, "jms:queue:events?deliveryPersistent=true")
                .setBody(constant("accepted"));
        from("jms:queue:events?transacted=true&lazyCreateTransactionManager=false"
                        + "&cacheLevelName=CACHE_CONSUMER&concurrentConsumers=" + CONNECTIONS)
                .to("direct:row");
        from("direct:row")
                .setHeader("number", xpath("/event/number/text()", String.class))
                .setHeader("part", xpath("/event/part/text()", String.class))
                .to("sql:insert into event (number, part) values (cast(:#number as bigint), :#part)"
                        + "?dataSource=#rows");
    }
}
